import { beforeAll, describe, expect, it } from 'vitest'
import type { Permission } from '../../src/domain/token/permission.ts'
import { permissionNames } from '../../src/domain/token/permission.ts'
import { type Client, createApp } from '../support/app.ts'
import { type Builders, createBuilders } from '../support/builders.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'

/** The seconds that are left in a window that has just begun. */
const fresh = expect.closeTo(60, -1)

let build: Builders
let client: Client
let database: TestDatabase
let [root, branch, leaf, other] = [0, 0, 0, 0]

beforeAll(async () => {
  database = await createDatabase()
  client = await createApp(database)
  build = createBuilders(database)
  root = await build.tenant()
  branch = await build.tenant({ parent_id: root })
  leaf = await build.tenant({ parent_id: branch })
  other = await build.tenant()
})

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
      const { body } = await client.graphql((await build.token([root], { permissions })).secret, query)
      expect(body.data.tenant.name).toEqual(expect.any(String))
      return body.errors?.[0].extensions.code
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

describe('tenants', () => {
  const seenBy = async (secret: string) => {
    const { body } = await client.graphql(secret, '{ tenants { totalCount nodes { databaseId parentId } } }')
    expect(body.data.tenants.totalCount).toBe(body.data.tenants.nodes.length)
    return body.data.tenants.nodes.map((tenant: { databaseId: number }) => tenant.databaseId)
  }
  const codeOf = async (secret: string, id: number) =>
    (await client.graphql(secret, `{ tenant(id: ${id}) { name } }`)).body.errors?.[0].extensions.code

  it('include the granted ones, and those below them when the grant includes descendants', async () => {
    const alone = (await build.token([root])).secret
    expect(await seenBy(alone)).toEqual([root])
    expect(await Promise.all([root, branch, leaf, other].map(id => codeOf(alone, id)))).toEqual([
      undefined,
      'FORBIDDEN',
      'FORBIDDEN',
      'FORBIDDEN',
    ])
    const all = (await build.token([{ tenantId: branch, withDescendants: true }, other])).secret
    expect(await seenBy(all)).toEqual([branch, leaf, other])
    expect(await codeOf(all, leaf)).toBeUndefined()
    expect(await codeOf(all, root)).toBe('FORBIDDEN')
    expect(await codeOf(all, 999_999)).toBe('NOT_FOUND')
    expect(await seenBy((await build.token([])).secret)).toEqual([])
  })

  it('are checked before permissions: a token without permissions gets the error of the tenant', async () => {
    const { secret } = await build.token([root], { permissions: [] })
    const { body } = await client.graphql(secret, `{ tenant(id: ${other}) { catalogVouchers { totalCount } } }`)
    expect(body.errors[0].message).toBe('This token is not authorised for this tenant.')
  })
})

describe('viewer', () => {
  it('has the name, tenants, permissions, expiry and rate of the token', async () => {
    const expiresAt = new Date(Date.now() + 3_600_000)
    const { secret } = await build.token([root, { tenantId: other, withDescendants: true }], {
      name: 'Till 7',
      permissions: ['view_orders', 'redeem_vouchers'],
      expiresAt,
    })
    const { body } = await client.graphql(
      secret,
      `{ viewer { name permissions expiresAt rate { limit remaining resetsIn }
         tenants { withDescendants tenant { databaseId name } } } }`,
    )
    expect(body.data).toEqual({
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
    const { secret } = await build.token([{ tenantId: root, withDescendants: true }])
    const id = await build.voucher(leaf, {
      reference: 'Res-1',
      qr_token: 'qr/1',
      current_balance: 12.5,
      currency: 'GBP',
    })
    const tenantIds = [String(root), Buffer.from(`Tenant:${root}`).toString('base64url')]
    for (const tenantId of tenantIds) {
      for (const name of [{ voucherReference: ' res-1 ' }, { qrToken: 'https://x.example/?t=qr%2F1' }]) {
        const { body } = await client.graphql(secret, mutation, { input: { tenantId, ...name } })
        expect(body.data.resolveVoucher).toEqual({
          status: 'redeemable',
          reasonCode: null,
          redemptionToken: expect.stringMatching(/^vgr_[\w-]{43}$/),
          voucher: { databaseId: id, status: 'redeemable', reasonCode: null, currentBalance: 12.5, dateValidEnd: null },
          tenant: { databaseId: root, sourceTenantId: leaf },
        })
      }
    }
  })

  it('returns why a voucher cannot be redeemed, without a redemption token', async () => {
    const { secret } = await build.token([root])
    await build.voucher(root, { reference: 'GONE', date_valid_end: '2020-01-01' })
    const input = { tenantId: String(root), voucherReference: 'gone' }
    const { body } = await client.graphql(secret, mutation, { input })
    expect(body.data.resolveVoucher).toMatchObject({
      status: 'not_redeemable',
      reasonCode: 'expired',
      redemptionToken: null,
      voucher: { dateValidEnd: '2020-01-01' },
    })
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
