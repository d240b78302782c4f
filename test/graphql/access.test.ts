import { describe, expect, it } from 'vitest'
import type { Permission } from '../../src/domain/token/permission.ts'
import { permissionNames } from '../../src/domain/token/permission.ts'
import { codeOf } from '../support/app.ts'
import { whole } from '../support/builders.ts'
import { fresh, globalId } from '../support/graphql.ts'
import { startService } from '../support/service.ts'

const { build, client } = await startService()
const root = await build.tenant()
const leaf = await build.tenant({ parent_id: await build.tenant({ parent_id: root }) })
const other = await build.tenant()

await build.voucher(root, { reference: 'ALONE' })
await build.product(root)

const ofRoot = (field: string) => `{ tenant(id: ${root}) { field: ${field} } }`
const figures = ['periods { from }', 'totals { value }', 'topProducts { title }', 'outstanding { balance }']
const ofFigures = (field: string) =>
  ofRoot(`figures(period: { from: "2026-01-01", to: "2026-02-28" }) { timeZone figure: ${field} }`)

it.each<[string, Permission[]]>([
  [ofRoot('catalogVouchers { totalCount }'), ['view_vouchers']],
  [ofRoot('catalogVoucher(id: 1) { id }'), ['view_vouchers']],
  [ofRoot('purchasedVouchers { totalCount }'), ['view_vouchers', 'view_orders']],
  [ofRoot('purchasedVoucher(id: 1) { id }'), ['view_vouchers', 'view_orders']],
  [ofRoot('catalogVouchers { nodes { purchasedVouchers { nextCursor } } }'), ['view_vouchers', 'view_orders']],
  [ofRoot('marketingSignups { totalCount }'), ['export_customer_information']],
  [ofRoot('marketingSignup(id: 1) { id }'), ['export_customer_information']],
  ...[...figures, 'expiring { balance }', 'status { vouchers }'].map((field): [string, Permission[]] => [
    ofFigures(field),
    ['view_vouchers', 'view_orders'],
  ]),
  [ofFigures('consents { given }'), ['export_customer_information']],
  [
    `mutation { resolveVoucher(input: { tenantId: ${root}, voucherReference: "alone" }) { status } }`,
    ['redeem_vouchers'],
  ],
])('%s requires all of %j', async (query, needed) => {
  const codeWith = async (permissions: Permission[]) => {
    const answer = await client.graphql((await build.token([root], { permissions })).secret, query)
    // Figures that need another permission are no reason to withhold the time zone.
    if (query.includes('figures(')) expect(answer.body.data.tenant.field.timeZone).toBe('UTC')
    return codeOf(answer)
  }
  expect(await codeWith(needed)).not.toBe('FORBIDDEN')
  for (const missing of needed) {
    expect(await codeWith(permissionNames.filter(permission => permission !== missing))).toBe('FORBIDDEN')
  }
})

it('a tenant that the token does not grant is FORBIDDEN, and one that does not exist is NOT_FOUND', async () => {
  const { secret } = await build.token([root])
  const codeAt = async (id: number) => codeOf(await client.graphql(secret, `{ tenant(id: ${id}) { name } }`))
  expect(await Promise.all([root, leaf, other, 999_999].map(codeAt))).toEqual([
    undefined,
    'FORBIDDEN',
    'FORBIDDEN',
    'NOT_FOUND',
  ])
})

it('the viewer has the name, tenants, permissions, expiry and rate of the token', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000)
  const own = { name: 'Till 7', permissions: ['view_orders', 'redeem_vouchers'] satisfies Permission[] }
  const { secret } = await build.token([root, whole(other)], { ...own, expiresAt })
  const selection = 'withDescendants tenant { databaseId name }'
  const query = `{ viewer { name permissions expiresAt rate { limit remaining resetsIn } tenants { ${selection} } } }`
  expect(await client.read(secret, query)).toEqual({
    viewer: {
      ...own,
      expiresAt: expiresAt.toISOString().replace('Z', '000Z'),
      rate: { limit: 100_000, remaining: 99_999, resetsIn: fresh },
      tenants: [
        { withDescendants: false, tenant: { databaseId: root, name: expect.any(String) } },
        { withDescendants: true, tenant: { databaseId: other, name: expect.any(String) } },
      ],
    },
  })
})

describe('resolveVoucher', () => {
  const mutation = `mutation ($input: ResolveVoucherInput!) { resolveVoucher(input: $input) {
    status reasonCode redemptionToken voucher { databaseId status reasonCode currentBalance dateValidEnd }
    tenant { databaseId sourceTenantId } } }`

  it('resolves by reference and by QR token, at a tenant named by either id', async () => {
    const { secret } = await build.token([whole(root)])
    const money = { current_balance: 12.5, currency: 'GBP' }
    const id = await build.voucher(leaf, { reference: 'Res-1', qr_token: 'qr/1', ...money })
    for (const tenantId of [String(root), globalId('Tenant', root)]) {
      for (const name of [{ voucherReference: ' res-1 ' }, { qrToken: 'https://x.example/?t=qr%2F1' }]) {
        const { resolveVoucher } = await client.read(secret, mutation, { input: { tenantId, ...name } })
        expect(resolveVoucher).toEqual({
          status: 'redeemable',
          reasonCode: null,
          redemptionToken: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]{86}$/),
          voucher: { databaseId: id, status: 'redeemable', reasonCode: null, currentBalance: 12.5, dateValidEnd: null },
          tenant: { databaseId: root, sourceTenantId: leaf },
        })
      }
    }
  })

  it('returns the result of one resolution when another of the same request fails', async () => {
    const { secret } = await build.token([root])
    await build.voucher(root, { reference: 'KEPT' })
    const one = (reference: string) =>
      `resolveVoucher(input: { tenantId: ${root}, voucherReference: "${reference}" }) { redemptionToken }`
    const { body } = await client.graphql(secret, `mutation { a: ${one('kept')} b: ${one('none')} }`)
    expect(body.data).toEqual({ a: { redemptionToken: expect.any(String) }, b: null })
    expect(body.errors).toMatchObject([{ path: ['b'], extensions: { code: 'NOT_FOUND' } }])
  })

  it.each([
    [{}, ['qrToken', 'voucherReference']],
    [{ qrToken: 'a'.repeat(2049) }, ['qrToken']],
  ])('rejects invalid input %#, and names its fields as GraphQL does', async (name, fields) => {
    const { secret } = await build.token([root])
    const { body } = await client.graphql(secret, mutation, { input: { tenantId: String(root), ...name } })
    expect(body.errors[0].extensions.code).toBe('BAD_USER_INPUT')
    expect(Object.keys(body.errors[0].extensions.errors)).toEqual(fields)
  })
})
