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

/** The maximum time until a change of grants or of the tree takes effect, even on a busy machine, in milliseconds. */
const maxDelayMs = 1_500

const listPaths = (id: number) =>
  ['catalog/vouchers', 'sales/purchased-vouchers', 'customers/marketing-signups'].map(list => `/tenants/${id}/${list}`)
/** Returns the paths of a product, a voucher and a customer. */
const recordPaths = (tenantId: number, ids: number[]) => listPaths(tenantId).map((list, at) => `${list}/${ids[at]}`)
const insertRecords = async (tenantId: number) => [
  await build.product(tenantId),
  await build.voucher(tenantId),
  await build.customer(tenantId),
]
const tenantsOf = ({ body }: Answer): number[] => body.data.map(({ tenant_id }: { tenant_id: number }) => tenant_id)
const sorted = (...ids: number[]) => ids.sort((a, b) => a - b)
const visible = async (secret: string) => tenantsOf(await client.rest(secret, '/tenants')).sort((a, b) => a - b)

test('lists and records contain rows of the path tenant only', async () => {
  const parent = await build.tenant()
  const child = await build.tenant({ parent_id: parent })
  const other = await build.tenant()
  const filled = [
    { tenantId: parent, ids: await insertRecords(parent) },
    { tenantId: child, ids: await insertRecords(child) },
    { tenantId: other, ids: await insertRecords(other) },
  ]
  const { secret } = await build.token([whole(parent), other])
  const ask = (paths: string[]) => Promise.all(paths.map(path => client.rest(secret, path)))
  const absent = [2 ** 40, 2 ** 40, 2 ** 40]
  for (const { tenantId, ids: own } of filled) {
    const lists = (await ask(listPaths(tenantId))).map(({ body }) => body.data.map(({ id }: { id: number }) => id))
    expect(lists).toEqual(own.map(id => [id]))
    const gone = await ask(recordPaths(tenantId, absent))
    for (const answer of gone) expect(flawOf(answer, 404)).toBeNull()
    for (const { ids } of filled) {
      const answers = await ask(recordPaths(tenantId, ids))
      if (ids === own) expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
      else expect(answers.map(({ status, text }) => [status, text])).toEqual(gone.map(({ text }) => [404, text]))
    }
  }
})

test('a grant includes only its tenant, or with descendants also all tenants below, each once', async () => {
  const top = await build.tenant()
  const middle = await build.tenant({ parent_id: top })
  const bottom = await build.tenant({ parent_id: middle })
  const beside = await build.tenant()
  for (const [grants, included] of [
    [[], []],
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

test('after a change of the tree, a grant with descendants includes the new descendants only', async () => {
  const top = await build.tenant()
  const branch = await build.tenant()
  const leaf = await build.tenant({ parent_id: branch })
  const { secret } = await build.token([whole(top)])
  const path = listPaths(leaf)[1]!
  const answers = async (status: number, listed: number[]) =>
    (await client.rest(secret, path)).status === status && String(await visible(secret)) === String(listed)
  expect(await answers(403, [top])).toBe(true)

  await platform`update tenant set parent_id = ${top} where id = ${branch}`
  await until('the branch is reached', () => answers(200, sorted(top, branch, leaf)), maxDelayMs)
  const born = await build.tenant({ parent_id: leaf })
  expect((await client.rest(secret, listPaths(born)[0]!)).status).toBe(200)
  await platform`update tenant set parent_id = null where id = ${branch}`
  await until('the branch is gone', () => answers(403, [top]), maxDelayMs)
})

test('after an applier deletes a tenant, a grant of this tenant does not include its former descendants', async () => {
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
  await until('the scope ends', async () => (await resolve()) === 403, maxDelayMs)
  expect((await client.rest(secret, listPaths(below)[0]!)).status).toBe(403)
})

test('a token includes a tenant that was deleted and inserted again, even after an edit and a rotation', async () => {
  const shop = await build.tenant({ name: 'Away Mill' })
  const stays = await build.tenant()
  const { id, secret } = await build.token([shop, stays])
  const status = async (secret: string) => (await client.rest(secret, listPaths(shop)[0]!)).status
  expect(await status(secret)).toBe(200)
  await platform`delete from tenant where id = ${shop}`
  await projected(pool)
  await until('the scope ends', async () => (await status(secret)) === 404, maxDelayMs)
  expect(await visible(secret)).toEqual([stays])
  expect((await getToken(pool, id)).tenants).toMatchObject([{ tenantId: shop, name: null }, { tenantId: stays }])
  const { rows } = await listTokens(pool, { limit: 50, filter: { tenant: String(shop) } })
  expect(rows.map(token => token.id)).toContain(id)
  await editToken(pool, tester, id, 1, { ...(await getToken(pool, id)), name: 'Renamed' })
  const { secret: successor } = await rotateToken(pool, tester, id, { overlap: 3600, expiresAt: 'inherit' })

  await platform`insert into tenant (id, name) values (${shop}, 'Away Mill')`
  await projected(pool)
  await until('the scope is back', async () => (await status(secret)) === 200, maxDelayMs)
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
