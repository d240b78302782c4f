import { VoucherGateway, VoucherGatewayError } from '@voucher-gateway/client'

const client = new VoucherGateway({
  url: process.env.VOUCHER_GATEWAY_URL ?? '',
  token: process.env.VOUCHER_GATEWAY_TOKEN ?? '',
})

try {
  for await (const tenant of client.tenants({ updatedSince: 'yesterday' })) console.log(tenant.name)
} catch (error) {
  if (!(error instanceof VoucherGatewayError)) throw error
  console.log(error.status, error.message)
  for (const [field, messages] of Object.entries(error.fieldErrors)) console.log(field, ...messages)
  console.log('request', error.requestId)
}
