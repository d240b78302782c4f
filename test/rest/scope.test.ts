import { expect, test } from 'vitest'
import { editToken } from '../../src/domain/token/lifecycle.ts'
import { listTokens } from '../../src/domain/token/list.ts'
import { rotateToken } from '../../src/domain/token/rotation.ts'
import { getToken } from '../../src/domain/token/token.ts'
import type { Answer } from '../support/app.ts'
import { tester, whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { until } from '../support/until.ts'
import { createWorld, flawOf } from './support.ts'

const { client, build, platform, pool } = await createWorld()

/** The time within which a change of grants or of the tree takes effect, on a busy machine too. */
const soon = 1_500

const recordPaths = (tenantId: number, ids: { product: number; voucher: number; customer: number }) => [
  `/tenants/${tenantId}/catalog/vouchers/${ids.product}`,
  `/tenants/${tenantId}/sales/purchased-vouchers/${ids.voucher}`,
  `/tenants/${tenantId}/customers/marketing-signups/${ids.customer}`,
]
const listPaths = (tenantId: number) =>
  recordPaths(tenantId, { product: 0, voucher: 0, customer: 0 }).map(path => path.slice(0, -2))
const fill = async (tenantId: number) => ({
  product: await build.product(tenantId),
  voucher: await build.voucher(tenantId),
  customer: await build.customer(tenantId),
})
const tenantsOf = ({ body }: Answer): number[] => body.data.map(({ tenant_id }: { tenant_id: number }) => tenant_id)
const sorted = (...ids: number[]) => ids.sort((a, b) => a - b)
const visible = async (secret: string) => tenantsOf(await client.rest(secret, '/tenants')).sort((a, b) => a - b)

test('lists and records contain rows of the path tenant only', async () => {
  const parent = await build.tenant()
  const child = await build.tenant({ parent_id: parent })
  const other = await build.tenant()
  const [own, below, foreign] = [await fill(parent), await fill(child), await fill(other)]
  const { secret } = await build.token([whole(parent), other])
  for (const [tenantId, ids] of [
    [parent, own],
    [child, below],
    [other, foreign],
  ] as const) {
    const listed = await Promise.all(listPaths(tenantId).map(path => client.rest(secret, path)))
    expect(listed.map(({ body }) => body.data.map(({ id }: { id: number }) => id))).toEqual([
      [ids.product],
      [ids.voucher],
      [ids.customer],
    ])
  }
  for (const path of recordPaths(parent, own)) expect((await client.rest(secret, path)).status).toBe(200)
  const absent = { product: 2 ** 40, voucher: 2 ** 40, customer: 2 ** 40 }
  const gone = await Promise.all(recordPaths(parent, absent).map(path => client.rest(secret, path)))
  for (const [tenantId, ids] of [
    [parent, below],
    [parent, foreign],
    [child, own],
  ] as const) {
    for (const [at, path] of recordPaths(tenantId, ids).entries()) {
      const answer = await client.rest(secret, path)
      expect(flawOf(answer, 404)).toBeNull()
      expect(answer.text).toBe(gone[at]?.text)
    }
  }
})

test('a grant includes its tenant, or with descendants every depth below it, each tenant once, and no other', async () => {
  const top = await build.tenant()
  const middle = await build.tenant({ parent_id: top })
  const bottom = await build.tenant({ parent_id: middle })
  const beside = await build.tenant()
  for (const [grants, included] of [
    [[middle], [middle]],
    [[whole(middle)], [middle, bottom]],
    [
      [whole(top), middle],
      [top, middle, bottom],
    ],
  ] as const) {
    const { secret } = await build.token([...grants])
    expect(await visible(secret)).toEqual(sorted(...included))
    for (const tenantId of [top, middle, bottom, beside]) {
      const status = included.some(id => id === tenantId) ? 200 : 403
      for (const path of listPaths(tenantId)) expect((await client.rest(secret, path)).status).toBe(status)
    }
  }
})

test('a token without grants lists no tenants', async () => {
  const { secret } = await build.token([])
  const { status, body } = await client.rest(secret, '/tenants')
  expect([status, body.data, body.next_cursor]).toEqual([200, [], null])
})

test('a grant with descendants follows changes of the tree', async () => {
  const top = await build.tenant()
  const branch = await build.tenant()
  const leaf = await build.tenant({ parent_id: branch })
  const { secret } = await build.token([whole(top)])
  const path = listPaths(leaf)[1]!
  const answers = async (status: number, listed: number[]) =>
    (await client.rest(secret, path)).status === status && String(await visible(secret)) === String(listed)
  expect(await answers(403, [top])).toBe(true)

  await platform`update tenant set parent_id = ${top} where id = ${branch}`
  await until('the branch is reached', () => answers(200, sorted(top, branch, leaf)), soon)
  const born = await build.tenant({ parent_id: leaf })
  expect((await client.rest(secret, listPaths(born)[0]!)).status).toBe(200)
  await platform`update tenant set parent_id = null where id = ${branch}`
  await until('the branch is gone', () => answers(403, [top]), soon)
})

test('a grant of a tenant that an applier deleted does not include its former descendants', async () => {
  const top = await build.tenant()
  const below = await build.tenant({ parent_id: top })
  const reference = `R-${below}`
  await build.voucher(below, { reference })
  const { secret } = await build.token([whole(top)])
  const count = async () => (await client.graphql(secret, '{ tenants { totalCount } }')).body.data.tenants.totalCount
  const resolve = async () => (await client.resolve(secret, below, { voucher_reference: reference })).status
  expect([await visible(secret), await count(), await resolve()]).toEqual([[top, below], 2, 200])

  await platform.begin(async applier => {
    await applier`set local session_replication_role = replica`
    await applier`delete from tenant where id = ${top}`
  })
  expect([await visible(secret), await count()]).toEqual([[], 0])
  await until('the scope ends', async () => (await resolve()) === 403, soon)
  expect((await client.rest(secret, listPaths(below)[0]!)).status).toBe(403)
})

test('a token reaches a tenant again that was away, whatever was done with the token meanwhile', async () => {
  const shop = await build.tenant({ name: 'Away Mill' })
  const stays = await build.tenant()
  const { id, secret } = await build.token([shop, stays])
  const status = async (secret: string) => (await client.rest(secret, listPaths(shop)[0]!)).status
  expect(await status(secret)).toBe(200)
  await platform`delete from tenant where id = ${shop}`
  await projected(pool)
  await until('the scope ends', async () => (await status(secret)) === 404, soon)
  expect(await visible(secret)).toEqual([stays])
  expect((await getToken(pool, id)).tenants).toMatchObject([{ tenantId: shop, name: null }, { tenantId: stays }])
  const { rows } = await listTokens(pool, { limit: 50, filter: { tenant: String(shop) } })
  expect(rows.map(token => token.id)).toContain(id)
  await editToken(pool, tester, id, 1, { ...(await getToken(pool, id)), name: 'Renamed' })
  const { secret: successor } = await rotateToken(pool, tester, id, { overlap: 3600, expiresAt: 'inherit' })

  await platform`insert into tenant (id, name) values (${shop}, 'Away Mill')`
  await projected(pool)
  await until('the scope is back', async () => (await status(secret)) === 200, soon)
  expect(await status(successor!)).toBe(200)
  expect(await visible(successor!)).toEqual(sorted(shop, stays))
})

test('v1 shows only customers who consent now', async () => {
  const tenantId = await build.tenant()
  const { secret } = await build.token([tenantId])
  const yes = await build.customer(tenantId)
  const no = await build.customer(tenantId, { marketing_opted: false, consented_at: '2020-01-01' })
  const [path] = listPaths(tenantId).slice(2) as [string]
  const shown = async () => (await client.rest(secret, path)).body.data.map(({ id }: { id: number }) => id)
  expect(await shown()).toEqual([yes])
  expect(flawOf(await client.rest(secret, `${path}/${no}`), 404)).toBeNull()
  await platform`update customer set marketing_opted = not marketing_opted where tenant_id = ${tenantId}`
  expect(await shown()).toEqual([no])
  expect(flawOf(await client.rest(secret, `${path}/${yes}`), 404)).toBeNull()
  expect((await client.rest(secret, `${path}/${no}`)).body.data.consented_at).toBe('2020-01-01T00:00:00.000000Z')
})
