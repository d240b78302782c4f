import { VoucherGateway } from '@voucher-gateway/client'

const client = new VoucherGateway({
  url: process.env.VOUCHER_GATEWAY_URL ?? '',
  token: process.env.VOUCHER_GATEWAY_TOKEN ?? '',
})

const { status, reason_code, voucher } = await client.resolve(1, { voucherReference: 'GIFT-LMAD-KFNK' })
if (status === 'redeemable') console.log(voucher.reference, voucher.current_balance ?? '-', voucher.currency ?? '-')
else console.log(voucher.reference, reason_code)
