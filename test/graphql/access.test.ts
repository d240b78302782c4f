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

const lists: [string, Permission[]][] = [
  ['catalogVouchers { totalCount }', ['view_vouchers']],
  ['catalogVoucher(id: 1) { id }', ['view_vouchers']],
  ['purchasedVouchers { totalCount }', ['view_vouchers', 'view_orders']],
  ['purchasedVoucher(id: 1) { id }', ['view_vouchers', 'view_orders']],
  ['marketingSignups { totalCount }', ['export_customer_information']],
  ['marketingSignup(id: 1) { id }', ['export_customer_information']],
]

describe('permissions', () => {
  it.each(lists)('%s requires all of %j', async (field, needed) => {
    const query = `{ tenant(id: ${root}) { name field: ${field} } }`
    const codeWith = async (permissions: Permission[]) => {
      const answer = await client.graphql((await build.token([root], { permissions })).secret, query)
      expect(answer.body.data.tenant.name).toEqual(expect.any(String))
      return codeOf(answer)
    }
    expect(await codeWith(needed)).not.toBe('FORBIDDEN')
    for (const missing of needed) {
      expect(await codeWith(permissionNames.filter(permission => permission !== missing))).toBe('FORBIDDEN')
    }
  })

  it('resolveVoucher requires redeem_vouchers', async () => {
    await build.voucher(root, { reference: 'ALONE' })
    const query = `mutation { resolveVoucher(input: { tenantId: ${root}, voucherReference: "alone" }) { status } }`
    const allowed = await build.token([root], { permissions: ['redeem_vouchers'] })
    expect((await client.graphql(allowed.secret, query)).body.data).toEqual({
      resolveVoucher: { status: 'redeemable' },
    })
    const rest = permissionNames.filter(permission => permission !== 'redeem_vouchers')
    const rejected = await build.token([root], { permissions: rest })
    expect((await client.graphql(rejected.secret, query)).body).toMatchObject({
      data: { resolveVoucher: null },
      errors: [{ path: ['resolveVoucher'], extensions: { code: 'FORBIDDEN' } }],
    })
  })
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

describe('viewer', () => {
  it('has the name, tenants, permissions, expiry and rate of the token', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000)
    const { secret } = await build.token([root, whole(other)], {
      name: 'Till 7',
      permissions: ['view_orders', 'redeem_vouchers'],
      expiresAt,
    })
    const data = await client.read(
      secret,
      `{ viewer { name permissions expiresAt rate { limit remaining resetsIn }
         tenants { withDescendants tenant { databaseId name } } } }`,
    )
    expect(data).toEqual({
      viewer: {
        name: 'Till 7',
        permissions: ['view_orders', 'redeem_vouchers'],
        expiresAt: expiresAt.toISOString().replace('Z', '000Z'),
        rate: { limit: 100_000, remaining: 99_999, resetsIn: fresh },
        tenants: [
          { withDescendants: false, tenant: { databaseId: root, name: expect.any(String) } },
          { withDescendants: true, tenant: { databaseId: other, name: expect.any(String) } },
        ],
      },
    })
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
          redemptionToken: expect.stringMatching(/^vgr_[\w-]{43}$/),
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
    expect(body.data).toEqual({ a: { redemptionToken: expect.stringMatching(/^vgr_/) }, b: null })
    expect(body.errors).toMatchObject([{ path: ['b'], extensions: { code: 'NOT_FOUND' } }])
  })

  it.each([
    [{}, ['qrToken', 'voucherReference']],
    [{ qrToken: 'a', voucherReference: 'b' }, ['qrToken', 'voucherReference']],
    [{ qrToken: 'a'.repeat(2049) }, ['qrToken']],
    [{ voucherReference: 'a'.repeat(256) }, ['voucherReference']],
  ])('rejects invalid input %#', async (name, fields) => {
    const { secret } = await build.token([root])
    const { body } = await client.graphql(secret, mutation, { input: { tenantId: String(root), ...name } })
    expect(body.errors[0].extensions.code).toBe('BAD_USER_INPUT')
    expect(Object.keys(body.errors[0].extensions.errors)).toEqual(fields)
  })
})
