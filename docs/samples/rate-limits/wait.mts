import { VoucherGateway } from '@voucher-gateway/client'

const client = new VoucherGateway({
  url: process.env.VOUCHER_GATEWAY_URL ?? '',
  token: process.env.VOUCHER_GATEWAY_TOKEN ?? '',
})

// The client waits as Retry-After says, and then repeats the request.
for await (const voucher of client.purchasedVouchers(1)) {
  console.log(voucher.reference)
}
