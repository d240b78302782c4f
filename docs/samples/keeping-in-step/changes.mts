import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { VoucherGateway } from '@voucher-gateway/client'

const client = new VoucherGateway({
  url: process.env.VOUCHER_GATEWAY_URL ?? '',
  token: process.env.VOUCHER_GATEWAY_TOKEN ?? '',
})

const bound = existsSync('bound') ? readFileSync('bound', 'utf8').trim() : undefined
const changes = client.purchasedVouchers(1, { updatedSince: bound })
for await (const voucher of changes) {
  console.log(voucher.id, voucher.reference, voucher.current_balance ?? '-')
}
writeFileSync('bound', changes.serverTime ?? '')
