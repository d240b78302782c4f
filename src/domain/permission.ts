/** What a token may be permitted, and what each opens, in a sentence. The contract names the four. */
export const permissions = {
  view_vouchers: 'Read voucher products, and (with view_orders) purchased vouchers.',
  view_orders: 'Read purchased vouchers and their balances (with view_vouchers).',
  export_customer_information: 'Export the personal data of customers who opted in to marketing.',
  redeem_vouchers: 'Resolve a voucher ahead of redemption.',
} as const

export type Permission = keyof typeof permissions

export const permissionNames = Object.keys(permissions) as readonly Permission[]

/** @returns whether the word names a permission */
export const isPermission = (word: string): word is Permission => Object.hasOwn(permissions, word)
