import { VoucherGateway } from '@voucher-gateway/client'

const client = new VoucherGateway({
  url: process.env.VOUCHER_GATEWAY_URL ?? '',
  token: process.env.VOUCHER_GATEWAY_TOKEN ?? '',
})

// The first argument is the bound: the time since which removals are read.
for await (const { resource, recordId, reason } of client.removals(1, { updatedSince: process.argv[2] })) {
  console.log(resource, recordId, reason)
}
