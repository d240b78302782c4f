/** A connection keeps the plan of a statement while the tables grow. */
import { expect, it } from 'vitest'
import { createPlanReader, type Plan, stepsOf } from '../../db/plans/plan.ts'
import { createApp } from '../../support/app.ts'
import { whole } from '../../support/builders.ts'
import { createDatabase } from '../../support/database.ts'
import { projected } from '../../support/projected.ts'
import { until } from '../../support/until.ts'

it('a statement whose plan is older than all vouchers still reads the rollups by index', async () => {
  const database = await createDatabase()
  const { pool, during } = await createPlanReader(database, 'generic')
  const client = await createApp({ pool })
  await database.platform`insert into tenant (id, name) values (1, 'Whole'), (2, 'Part')`
  await database.platform`update tenant set parent_id = 1 where id = 2`
  const { secret } = await database.build.token([whole(1)])
  const reads = async (): Promise<Plan[]> => {
    const read = () =>
      client.graphql(
        secret,
        `{ tenant(id: 1) { figures(period: { from: "2023-05-09", to: "2025-01-09" }, by: MONTH, withDescendants: true) {
          periods { sales { vouchers } } consents { given } outstanding { vouchers }
          topProducts(first: 4) { productId }
        } } }`,
      )
    // Sends as many requests at a time as the pool has connections, so that each connection has a plan.
    const plans = await during(() => Promise.all(Array.from({ length: 4 }, read)))
    return plans.filter(({ name }) => name === 'figures.read')
  }
  await projected(database.pool)
  // Repeats the reads, because a service that has just started may refuse a burst.
  await until('four reads have a plan', async () => (await reads()).length === 4)
  await database.platform`
    insert into purchased_voucher (tenant_id, reference, purchase_timestamp)
    select 1 + n % 2, 'V-' || n, timestamptz '2023-05-09Z' + n * interval '5 hours' from generate_series(1, 2500) n`
  await projected(database.pool)
  const scanned = (await reads())
    .flatMap(({ root }) => stepsOf(root))
    .filter(step => step['Relation Name'] === 'figure_rollup')
  expect(scanned.length).toBeGreaterThanOrEqual(16)
  expect(scanned.filter(step => step['Node Type'] === 'Seq Scan')).toEqual([])
})
