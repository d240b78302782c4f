/** `changes` names each list of the token's scope that changed since an instant, and no other list. */
import { expect, test } from 'vitest'
import { permissionNames } from '../../src/domain/token/permission.ts'
import { whole } from '../support/builders.ts'
import { globalId } from '../support/graphql.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'

const { build, client, platform, pool } = await startService()

const parent = await build.tenant()
const child = await build.tenant({ parent_id: parent })
const foreign = await build.tenant()
for (const tenant of [parent, child, foreign]) {
  await build.product(tenant)
  await build.voucher(tenant)
  await build.customer(tenant)
}
const { secret } = await build.token([whole(parent)])
const alone = await build.token([parent])

const query = `query ($after: DateTime, $tenants: [ID!], $lists: [ListName!]) {
  changes(after: $after, tenantIds: $tenants, lists: $lists) {
    lists { tenantId list since } serverTime hasMore epoch access
  }
}`

async function changes(variables: Record<string, unknown> = {}, token = secret) {
  const { body } = await client.graphql(token, query, variables)
  return { ...body.data?.changes, errors: body.errors }
}

const namesOf = ({ lists }: { lists: { tenantId: number; list: string }[] }) =>
  lists.map(({ tenantId, list }) => `${tenantId} ${list}`)

/** Returns the lists that `changes` reports to a token after an action. */
async function listsChangedBy(change: () => PromiseLike<unknown>, token = secret) {
  const { serverTime } = await changes({}, token)
  await change()
  return namesOf(await changes({ after: serverTime }, token))
}

const code = ({ errors }: { errors?: { extensions: { code: string } }[] }) => errors?.[0]?.extensions.code

test('without `after`, all lists come in the order of their stamps; after the last stamp, none', async () => {
  const all = await changes()
  expect(namesOf(all).sort()).toEqual(
    [parent, child].flatMap(id =>
      ['CATALOG_VOUCHERS', 'MARKETING_SIGNUPS', 'PURCHASED_VOUCHERS', 'TENANTS'].map(list => `${id} ${list}`),
    ),
  )
  const stamps = all.lists.map(({ since }: { since: string }) => since)
  expect(stamps).toEqual([...stamps].sort())
  expect(stamps.at(-1) < all.serverTime).toBe(true)
  expect(await changes({ after: all.serverTime })).toMatchObject({ lists: [], hasMore: false, access: all.access })
  // `after` is exclusive: the client already has the changes of that instant.
  expect(namesOf(await changes({ after: stamps.at(-2) }))).toEqual(namesOf(all).slice(-1))
})

test('a list that `changes` names contains the change, when it is read with the `since` of the list', async () => {
  const { serverTime } = await changes()
  const id = await build.voucher(child)
  const found = await changes({ after: serverTime })
  expect(namesOf(found)).toEqual([`${child} PURCHASED_VOUCHERS`])
  const [{ since }] = found.lists
  const list = `/tenants/${child}/sales/purchased-vouchers?updated_since=${since}`
  expect((await client.rest(secret, list)).body.data).toMatchObject([{ id, updated_at: since }])
  const remove = () => platform`delete from purchased_voucher where id = ${id}`
  expect(await listsChangedBy(remove)).toEqual([`${child} PURCHASED_VOUCHERS`])
})

test('no grant includes other tenants, and only one with descendants the tenants below (R21)', async () => {
  const sell = async () => {
    for (const tenant of [foreign, child, parent]) await build.voucher(tenant)
  }
  expect(await listsChangedBy(sell)).toEqual([`${child} PURCHASED_VOUCHERS`, `${parent} PURCHASED_VOUCHERS`])
  expect(await listsChangedBy(sell, alone.secret)).toEqual([`${parent} PURCHASED_VOUCHERS`])
  expect(namesOf(await changes({}, (await build.token([])).secret))).toEqual([])
})

test('a tenant that is added, moved or deleted changes the list of tenants of each token with it', async () => {
  const other = await build.token([whole(foreign)])
  const moved = await build.tenant({ parent_id: child })
  const named = await build.token([moved])
  await projected(pool)
  const before = (await changes()).serverTime
  await platform`update tenant set parent_id = ${foreign} where id = ${moved}`
  expect(namesOf(await changes({ after: before }))).toEqual([`${parent} TENANTS`, `${child} TENANTS`].sort())
  expect(namesOf(await changes({ after: before }, other.secret))).toEqual([`${moved} TENANTS`])
  const remove = () => platform`delete from tenant where id = ${moved}`
  expect(await listsChangedBy(remove, named.secret)).toEqual([`${moved} TENANTS`])
})

test('`changes` returns only permitted lists, and only those that `lists` and `tenants` select', async () => {
  const { secret: ofProducts } = await build.token([whole(parent)], { permissions: ['view_vouchers'] })
  const names = [parent, child].flatMap(id => [`${id} CATALOG_VOUCHERS`, `${id} TENANTS`])
  expect(namesOf(await changes({}, ofProducts)).sort()).toEqual(names)
  const { errors } = await changes({ lists: ['CATALOG_VOUCHERS', 'PURCHASED_VOUCHERS'] }, ofProducts)
  expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' }, message: expect.stringContaining('view_orders') }])
  const asked = await changes({ lists: ['MARKETING_SIGNUPS'], tenants: [globalId('Tenant', child), String(child)] })
  expect(namesOf(asked)).toEqual([`${child} MARKETING_SIGNUPS`])
  expect(await changes({ lists: [] })).toMatchObject({ lists: [] })
  expect(await changes({ tenants: [] })).toMatchObject({ lists: [] })
})

test('the argument `tenants` is checked like a tenant in the path (R19)', async () => {
  expect(code(await changes({ tenants: [String(parent), String(foreign)] }))).toBe('FORBIDDEN')
  expect(code(await changes({ tenants: ['999999'] }))).toBe('NOT_FOUND')
  expect(code(await changes({ tenants: [String(child)] }, alone.secret))).toBe('FORBIDDEN')
})

test('`access` differs when grants or permissions differ', async () => {
  const texts = new Set([(await changes({}, alone.secret)).access])
  for (const [grants, permissions] of [
    [[parent], permissionNames],
    [[parent, child], permissionNames],
    [[whole(parent)], permissionNames],
    [[parent], ['view_vouchers']],
  ] as const) {
    const token = await build.token([...grants], { permissions: [...permissions] })
    texts.add((await changes({}, token.secret)).access)
  }
  expect(texts.size).toBe(4)
})

test('an `after` from a time before a required full pass is an error, and the epoch has grown', async () => {
  const { serverTime, epoch } = await changes()
  await platform`select gateway.require_full_pass()`
  const { errors } = await changes({ after: serverTime })
  const reason = { after: [expect.stringContaining('a full pass is needed')] }
  expect(errors).toMatchObject([{ extensions: { code: 'BAD_USER_INPUT', errors: reason } }])
  const fresh = await changes()
  expect(fresh.epoch).toBeGreaterThan(epoch)
  expect(await changes({ after: fresh.serverTime })).toMatchObject({ lists: [], epoch: fresh.epoch })
})

test('more changes than fit in one answer are returned in several answers, which cost one unit each', async () => {
  await platform`insert into tenant (name, parent_id) select 'Tenant ' || n, case when n % 2 = 0 then ${parent}::bigint end from generate_series(1, 4500) n`
  await projected(pool)
  const { body } = await client.graphql(secret, query)
  expect(body.extensions.cost).toMatchObject({ requested: 1, actual: 1 })
  let after: string | null = null
  const found: string[] = []
  let answers = 0
  for (let hasMore = true; hasMore; answers++) {
    const part = await changes({ after })
    found.push(...namesOf(part))
    hasMore = part.hasMore
    after = part.serverTime
  }
  expect([answers, found.length, new Set(found).size]).toEqual([3, 2250 + 8, 2250 + 8])
  expect((await changes({ after })).lists).toEqual([])
})
