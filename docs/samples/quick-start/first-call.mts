import { VoucherGateway } from '@voucher-gateway/client'

const client = new VoucherGateway({
  url: process.env.VOUCHER_GATEWAY_URL ?? '',
  token: process.env.VOUCHER_GATEWAY_TOKEN ?? '',
})

for await (const tenant of client.tenants()) {
  console.log(tenant.tenant_id, tenant.name)
}
