/** Searched lists are read from entries: a page shows each record as it is now, and leaves out one that no longer matches. */
import { beforeEach, describe, expect, it } from 'vitest'
import { followed } from '../../support/followed.ts'
import { readPages } from '../../support/graphql.ts'
import { untilLockWaits } from '../../support/locks.ts'
import { startService, type TestService } from '../../support/service.ts'
import { type Asked, ask, idsOf, list } from './support.ts'

let database: TestService['database']
let client: TestService['client']
let build: TestService['build']
let secret: string
let inn: number
let ids: number[]

// Each test has its own database, because the service also follows it in the background.
beforeEach(async () => {
  ;({ database, client, build } = await startService())
  inn = await build.tenant()
  secret = (await build.token([inn])).secret
  ids = []
  for (let n = 1; n <= 6; n++) {
    const amounts = { currency: 'GBP', initial_balance: 50, current_balance: n }
    ids.push(await build.voucher(inn, { reference: `R-${n}`, ...amounts }))
  }
  await followed(database.pool)
})

/** Stops the follower, in the test and in the service, while changes are made and a list is read. */
async function withoutFollower(work: () => Promise<void>): Promise<void> {
  await database.platform.begin(async holder => {
    await holder`select pg_advisory_xact_lock(gateway.follower_lock())`
    await work()
  })
}

const byBalance = (): Asked => ({
  tenantId: inn,
  list: 'purchasedVouchers',
  filter: { status: ['PART_REDEEMED'], currency: 'GBP', balance: { from: 1, to: 6 } },
  orderBy: { field: 'BALANCE' },
})

describe('a page', () => {
  it('shows each record as it is now, at the place that it had', async () => {
    const { platform } = database
    await withoutFollower(async () => {
      await platform`update purchased_voucher set current_balance = 5.5, product_title = 'Tea' where id = ${ids[0]!}`
      const found = await list(client, secret, byBalance(), {}, 'databaseId balance: currentBalance productTitle')
      expect(found.edges.slice(0, 2)).toMatchObject([
        { node: { databaseId: ids[0], balance: 5.5, productTitle: 'Tea' } },
        { node: { databaseId: ids[1], balance: 2, productTitle: null } },
      ])
    })
  })

  it('leaves out what no longer matches, has moved or is gone', async () => {
    const { platform } = database
    const other = await build.tenant()
    await withoutFollower(async () => {
      await platform`update purchased_voucher set void = true where id = ${ids[0]!}`
      await platform`update purchased_voucher set tenant_id = ${other} where id = ${ids[1]!}`
      await platform`delete from purchased_voucher where id = ${ids[2]!}`
      const found = await list(client, secret, byBalance())
      expect(idsOf(found)).toEqual(ids.slice(3))
      const foreign = (await build.token([other])).secret
      expect(idsOf(await list(client, foreign, { ...byBalance(), tenantId: other }))).toEqual([])
    })
    await followed(database.pool)
    const foreign = (await build.token([other])).secret
    expect(idsOf(await list(client, foreign, { ...byBalance(), tenantId: other }))).toEqual([ids[1]])
  })

  it('leads to the next page even when all its records are left out', async () => {
    await withoutFollower(async () => {
      const { platform } = database
      await platform`update purchased_voucher set void = true where id in ${platform(ids.slice(0, 4))}`
      const pages = await readPages(page => list(client, secret, byBalance(), page), 2)
      expect(pages.map(idsOf)).toEqual([[], [], ids.slice(4)])
      const last = await list(client, secret, byBalance(), { last: 2 })
      const before = await list(client, secret, byBalance(), { last: 2, before: last.pageInfo.startCursor })
      expect(before).toMatchObject({ edges: [], pageInfo: { hasPreviousPage: true, hasNextPage: true } })
    })
  })

  it('does not show a customer who has withdrawn the consent', async () => {
    const [stays, leaves] = [
      await build.customer(inn, { full_name: 'Ann Lee', consented_at: '2026-01-01T00:00:00Z' }),
      await build.customer(inn, { full_name: 'Ann Ray', consented_at: '2026-01-01T00:00:00Z' }),
    ]
    await followed(database.pool)
    const asked: Asked = { tenantId: inn, list: 'marketingSignups', filter: { text: 'ann' } }
    expect(idsOf(await list(client, secret, asked))).toHaveLength(2)
    await withoutFollower(async () => {
      await database.platform`update customer set marketing_opted = false where id = ${leaves}`
      expect(idsOf(await list(client, secret, asked))).toEqual([stays])
    })
    await followed(database.pool)
    expect(await list(client, secret, asked)).toMatchObject({ count: { count: 1 } })
    expect(await database.pool`select name, words from gateway.consent_entry where id = ${leaves}`).toEqual([
      { name: '', words: null },
    ])
  })
})

it('serverTime is an instant from which a client misses no change', async () => {
  const orderBy = { field: 'BALANCE', direction: 'DESC' } as const
  const asked: Asked = { tenantId: inn, list: 'purchasedVouchers', filter: { currency: 'GBP' }, orderBy }
  const [changed = 0, last = 0] = [ids[0], ids[5]]
  let serverTime = ''
  await withoutFollower(async () => {
    await database.platform`update purchased_voucher set current_balance = 40 where id = ${changed}`
    const found = await list(client, secret, asked)
    expect(idsOf(found)[0]).toBe(last)
    serverTime = found.serverTime
  })
  await followed(database.pool)
  const found = await list(client, secret, { ...asked, updatedSince: serverTime })
  expect(idsOf(found)).toContain(changed)
})

it('there are no pages and no figures until all records were read once', async () => {
  await withoutFollower(async () => {
    await database.platform`update gateway.follower set as_of = null`
    const { data, errors } = await ask(client, secret, byBalance())
    expect(data.tenant.list).toBeNull()
    expect(errors).toMatchObject([
      { message: expect.stringContaining('in a minute'), extensions: { code: 'UNAVAILABLE' } },
    ])
    const figures = 'figures(period: { from: "2026-01-01", to: "2026-02-28" }) { totals { vouchers } }'
    const { body } = await client.graphql(secret, `{ tenant(id: ${inn}) { ${figures} } }`)
    expect(body.data).toEqual({ tenant: { figures: { totals: null } } })
    expect(body.errors).toMatchObject([{ extensions: { code: 'UNAVAILABLE' } }])
    const products = await list(client, secret, { tenantId: inn, list: 'catalogVouchers', orderBy: { field: 'TITLE' } })
    expect(products.edges).toEqual([])
    expect(await client.rest(secret, `/tenants/${inn}/sales/purchased-vouchers`)).toMatchObject({ status: 200 })
  })
})

it('a page is whole or an error when all entries are written anew', async () => {
  for (const filter of [{ currency: 'GBP' }, { text: 'R-' }]) {
    await followed(database.pool)
    const asked: Asked = { tenantId: inn, list: 'purchasedVouchers', filter }
    let answered: ReturnType<typeof ask> | undefined
    await database.platform.begin(async holder => {
      await holder`select gateway.recount_figures()`
      await holder`truncate gateway.voucher_entry, gateway.voucher_text`
      answered = ask(client, secret, asked)
      // The request has read how far the entries follow, and waits for the entries.
      await untilLockWaits(database.platform)
    })
    expect(await answered).toMatchObject({
      data: { tenant: { list: null } },
      errors: [{ extensions: { code: 'UNAVAILABLE' } }],
    })
    await followed(database.pool)
    expect(idsOf(await list(client, secret, asked))).toEqual(ids)
  }
})
