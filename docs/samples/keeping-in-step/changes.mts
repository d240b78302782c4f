import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { type PurchasedVoucher, VoucherGateway } from '@voucher-gateway/client'

const client = new VoucherGateway({
  url: process.env.VOUCHER_GATEWAY_URL ?? '',
  token: process.env.VOUCHER_GATEWAY_TOKEN ?? '',
})

/** The copy: the vouchers by id, the bound, and the cursor while a round has not ended. */
interface Copy {
  vouchers: Record<number, PurchasedVoucher>
  bound?: string
  cursor?: string | null
}

const copy: Copy = existsSync('copy.json') ? JSON.parse(readFileSync('copy.json', 'utf8')) : { vouchers: {} }
const changes = client.purchasedVouchers(1, copy.cursor ? { cursor: copy.cursor } : { updatedSince: copy.bound })
for await (const { records, nextCursor, serverTime } of changes.pages()) {
  if (!copy.cursor) copy.bound = serverTime
  copy.cursor = nextCursor
  for (const voucher of records) copy.vouchers[voucher.id] = voucher
  // Replaces the file: the records, the cursor and the bound are stored in one step.
  writeFileSync('copy.json.new', JSON.stringify(copy))
  renameSync('copy.json.new', 'copy.json')
  for (const voucher of records) console.log(voucher.id, voucher.reference, voucher.current_balance ?? '-')
}
