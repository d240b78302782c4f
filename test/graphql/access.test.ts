import { expect, it } from 'vitest'
import { createEndpoint, pauseEndpoint } from '../../src/domain/event/endpoint.ts'
import type { Permission } from '../../src/domain/token/permission.ts'
import { permissionNames } from '../../src/domain/token/permission.ts'
import { codeOf } from '../support/app.ts'
import { tester, whole } from '../support/builders.ts'
import { fresh, globalId } from '../support/graphql.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'

const { build, client, pool } = await startService()
const root = await build.tenant()
const leaf = await build.tenant({ parent_id: await build.tenant({ parent_id: root }) })
const otherTenant = await build.tenant()

await build.product(root)

const ofRoot = (field: string) => `{ tenant(id: ${root}) { field: ${field} } }`
const figures = ['periods { from }', 'totals { value }', 'topProducts { title }', 'outstanding { balance }']
const ofFigures = (field: string) =>
  ofRoot(`figures(period: { from: "2026-01-01", to: "2026-02-28" }) { timeZone figure: ${field} }`)

/** Tests fields that no operation of v1 selects; `test/rest/access.test.ts` tests the other fields. */
it.each<[string, Permission[]]>([
  [ofRoot('catalogVouchers { nodes { purchasedVouchers { nextCursor } } }'), ['view_vouchers', 'view_orders']],
  ...[...figures, 'expiring { balance }', 'status { vouchers }'].map((field): [string, Permission[]] => [
    ofFigures(field),
    ['view_vouchers', 'view_orders'],
  ]),
  [ofFigures('consents { given }'), ['export_customer_information']],
])('%s requires all of %j', async (query, needed) => {
  const codeWith = async (permissions: Permission[]) => {
    const answer = await client.graphql((await build.token([root], { permissions })).secret, query)
    // The time zone is returned even when the token lacks the permission for a figure.
    if (query.includes('figures(')) expect(answer.body.data.tenant.field.timeZone).toBe('UTC')
    return codeOf(answer)
  }
  expect(await codeWith(needed)).not.toBe('FORBIDDEN')
  for (const missing of needed) {
    expect(await codeWith(permissionNames.filter(permission => permission !== missing))).toBe('FORBIDDEN')
  }
})

it('the viewer has the name, tenants, permissions, expiry and rate of the token', async () => {
  const expiresAt = new Date(Date.now() + 3_600_000)
  const own = { name: 'Till 7', permissions: ['view_orders', 'redeem_vouchers'] satisfies Permission[] }
  const { secret } = await build.token([root, whole(otherTenant)], { ...own, expiresAt })
  const tenants = 'tenants { withDescendants tenant { databaseId } }'
  const query = `{ viewer { name permissions expiresAt rate { limit remaining resetsIn } ${tenants} } }`
  expect((await client.read(secret, query)).viewer).toEqual({
    ...own,
    expiresAt: expiresAt.toISOString().replace('Z', '000Z'),
    rate: { limit: 100_000, remaining: 99_999, resetsIn: fresh },
    tenants: [
      { withDescendants: false, tenant: { databaseId: root } },
      { withDescendants: true, tenant: { databaseId: otherTenant } },
    ],
  })
})

it('the viewer shows the state of its own webhooks, costs one operation, and takes one statement', async () => {
  await projected(pool)
  const [own, foreign] = [await build.token([root]), await build.token([root])]
  const add = (id: number) => createEndpoint(pool, tester, id, `https://partner.example.com/${id}`)
  await add(foreign.id)
  await pauseEndpoint(pool, tester, (await add(own.id)).id)
  const query = `{ viewer { webhooks { url state failingSince pausedAt pauseReason deliveredTo } again: webhooks { url } } }`
  const url = `https://partner.example.com/${own.id}`
  const { body, headers } = await client.graphql(own.secret, query)
  const state = { state: 'PAUSED', failingSince: null, pauseReason: 'ADMINISTRATOR' }
  const times = { pausedAt: expect.stringMatching(/Z$/), deliveredTo: expect.stringMatching(/\.\d{6}Z$/) }
  expect(body.data.viewer).toEqual({ webhooks: [{ url, ...state, ...times }], again: [{ url }] })
  expect(headers['ratelimit-remaining']).toBe('99999')
})

const mutation = `mutation ($input: ResolveVoucherInput!) { resolveVoucher(input: $input) {
  status reasonCode redemptionToken voucher { databaseId currentBalance } tenant { databaseId sourceTenantId } } }`

it('resolveVoucher resolves by reference and by QR token, at a tenant named by either id', async () => {
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
        voucher: { databaseId: id, currentBalance: 12.5 },
        tenant: { databaseId: root, sourceTenantId: leaf },
      })
    }
  }
})

it.each([
  [{}, ['qrToken', 'voucherReference']],
  [{ qrToken: 'a'.repeat(2049) }, ['qrToken']],
])('resolveVoucher rejects invalid input %#, and names its fields as GraphQL does', async (name, fields) => {
  const { secret } = await build.token([root])
  const { body } = await client.graphql(secret, mutation, { input: { tenantId: String(root), ...name } })
  expect(body.errors[0].extensions.code).toBe('BAD_USER_INPUT')
  expect(Object.keys(body.errors[0].extensions.errors)).toEqual(fields)
})
