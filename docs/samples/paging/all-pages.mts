import { VoucherGateway } from '@voucher-gateway/client'

const client = new VoucherGateway({
  url: process.env.VOUCHER_GATEWAY_URL ?? '',
  token: process.env.VOUCHER_GATEWAY_TOKEN ?? '',
})

// The client follows next_cursor.
for await (const voucher of client.purchasedVouchers(1)) {
  console.log(voucher.id, voucher.reference)
}
