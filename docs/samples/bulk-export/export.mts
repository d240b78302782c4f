import { appendFileSync, writeFileSync } from 'node:fs'
import { VoucherGateway } from '@voucher-gateway/client'

const client = new VoucherGateway({
  url: process.env.VOUCHER_GATEWAY_URL ?? '',
  token: process.env.VOUCHER_GATEWAY_TOKEN ?? '',
})

// When the connection breaks, the client continues from the last cursor. It also checks the last line.
const vouchers = client.exportPurchasedVouchers(1)
writeFileSync('vouchers.ndjson', '')
for await (const { records } of vouchers.pages()) {
  appendFileSync('vouchers.ndjson', records.map(record => `${JSON.stringify(record)}\n`).join(''))
}
console.log('next bound', vouchers.serverTime)
