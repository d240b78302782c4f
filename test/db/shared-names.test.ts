/**
 * Vouchers may share a reference (R33). Steps and resolutions must read few rows, whatever the number of these
 * vouchers.
 */
import { expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { createPlanReader, rowsOf, type Step, stepsOf } from './plans/plan.ts'

const { build, database, platform } = await startService()
const rowsRead = (root: Step): number =>
  stepsOf(root)
    .filter(step => step['Node Type'].endsWith('Scan'))
    .reduce((rows, step) => rows + rowsOf(step), 0)

test('steps and resolutions read few rows when many vouchers share a reference, in one tenant or in many tenants', async () => {
  const top = await build.tenant()
  const [till, beside] = [await build.tenant({ parent_id: top }), await build.tenant({ parent_id: top })]
  const below = await build.tenant({ parent_id: till })
  await platform`insert into tenant (id, name) select 10000 + n, 'Far' from generate_series(1, 1500) n`
  await platform`insert into purchased_voucher (tenant_id, reference, qr_token) select ${beside}, n, n from generate_series(1, 20000) n`
  const teller = await createPlanReader(database, 'generic')
  await projected(teller.pool)
  await platform`
    insert into purchased_voucher (tenant_id, reference, qr_token)
    select id, text, text
    from generate_series(1, 1500) n, lateral (values (${till}::bigint, 'Many'), (${till}, 'mANY'), (10000 + n, 'Spread')) twin(id, word),
         concat(repeat(' ', n % 100), word, repeat(' ', n / 100)) text`
  const steps = await teller.during(() => projected(teller.pool))
  expect(await platform`select from gateway.voucher where tenant_id <> ${beside}`).toHaveLength(4500)
  expect(steps.reduce((rows, { root }) => rows + rowsRead(root), 0)).toBeLessThan(4500 * 100)

  await platform`analyze gateway.voucher`
  await build.voucher(till, { reference: 'MANY' })
  for (const owner of [till, below]) await build.voucher(owner, { reference: 'SPREAD', qr_token: 'Spread' })
  const { client, secret } = { client: await createApp(teller), ...(await build.token([whole(top)])) }
  for (const [at, name, found] of [
    [till, { voucher_reference: 'MANY' }, till],
    [below, { voucher_reference: 'many' }, 422],
    [till, { qr_token: 'Many' }, 422],
    [till, { voucher_reference: 'spread' }, till],
    [top, { qr_token: 'Spread' }, 422],
    [beside, { qr_token: 'Spread' }, 404],
  ] as const) {
    let answer: unknown
    const plans = await teller.during(async () => {
      const { status, body } = await client.resolve(secret, at, name)
      answer = body.data?.tenant.source_tenant_id ?? status
    })
    const rows = plans.filter(plan => plan.name?.startsWith('resolution.find')).map(({ root }) => rowsRead(root) < 500)
    expect([answer, rows], `at ${at}: ${JSON.stringify(name)}`).toEqual([found, rows.map(() => true)])
  }
})
