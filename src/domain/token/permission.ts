/** The permissions of the contract, each with a description. */
export const permissions = {
  view_vouchers: 'Read voucher products, and (with view_orders) purchased vouchers.',
  view_orders: 'Read purchased vouchers and their balances (with view_vouchers).',
  export_customer_information: 'Export the personal data of customers who opted in to marketing.',
  redeem_vouchers: 'Resolve a voucher ahead of redemption.',
} as const

export type Permission = keyof typeof permissions

/** All permissions, in the order in which they are shown. */
export const permissionNames = Object.keys(permissions) as readonly Permission[]

/** Returns whether the text is the name of a permission. */
export const isPermission = (text: string): text is Permission => Object.hasOwn(permissions, text)

/**
 * Returns the names of permissions as Markdown for a sentence, each in backticks and joined by "and": `view_vouchers`
 * and `view_orders`.
 */
export const listPermissions = (names: readonly Permission[]): string => names.map(name => `\`${name}\``).join(' and ')
