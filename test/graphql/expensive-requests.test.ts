/** Expensive requests of one token (R31) do not delay requests of other tokens or of v1. */
import { expect, test } from 'vitest'
import { type Answer, createApp } from '../support/app.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { untilLockWaits } from '../support/locks.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'

const { build, database, platform, address } = await startService()
const timeouts = { statementTimeoutMs: 20_000, waitTimeoutMs: 20_000 }
// The pool has one connection for requests that are not expensive, and two for expensive requests.
const pool = connect(address, { max: 1, ...timeouts, role: serviceRole })
const watcher = connect(address, { max: 1, ...timeouts })
const client = await createApp({ pool })
const tenantId = await build.tenant()
await build.product(tenantId)
await build.voucher(tenantId, { reference: 'FAIR' })
await projected(database.pool)
const [one, other] = await Promise.all([build.token([tenantId]), build.token([tenantId])])

const ofTenant = (selection: string) => `{ tenant(id: ${tenantId}) { ${selection} } }`
const productSearch = ofTenant('catalogVouchers(filter: { text: "gift" }) { nodes { id } }')
const voucherSearch = ofTenant('purchasedVouchers(filter: { text: "fair" }) { nodes { reference } }')
const figures = ofTenant('figures(period: { from: "2026-01-01", to: "2026-01-31" }) { totals { value } }')
const repeatTimes = <Result>(count: number, work: (at: number) => Result) =>
  Array.from({ length: count }, (_, at) => work(at))

/** Sends expensive requests with another token, and other requests with both tokens. */
const askOthers = () =>
  Promise.all([
    client.graphql(other.secret, voucherSearch),
    client.graphql(other.secret, figures),
    ...[one, other].flatMap(({ secret }) => [
      client.rest(secret, `/tenants/${tenantId}/sales/purchased-vouchers`),
      client.resolve(secret, tenantId, { voucher_reference: 'fair' }),
      client.graphql(secret, ofTenant('purchasedVouchers { nodes { reference } }')),
    ]),
  ])

/** Runs work while a lock prevents reads of products. */
const whileLocked = <Result>(work: () => Promise<Result>) =>
  platform.begin(async sql => {
    await sql`lock table gateway.product`
    return work()
  })

const waitingSessions = async () =>
  (await watcher`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`).length

/** Checks that each answer has all its data. */
function expectWhole(...answers: Answer[]): void {
  for (const { status, body } of answers) expect([status, body.errors]).toEqual([200, undefined])
}

test('when ten searches of a token wait, its further searches are refused, and others are answered', async () => {
  const refused: Answer[] = []
  const { sent, others, known } = await whileLocked(async () => {
    const sent = repeatTimes(15, async () => {
      const answer = await client.graphql(one.secret, productSearch)
      if (answer.status === 429) refused.push(answer)
      return answer
    })
    await untilLockWaits(watcher)
    await expect.poll(() => refused.length).toBe(5)
    const others = await askOthers()
    // The document is cached now, so the request is refused before the document is parsed.
    return { sent, others, known: await client.graphql(one.secret, productSearch) }
  })
  expectWhole(...others)
  for (const { status, headers, body } of [...refused, known]) {
    expect(status).toBe(429)
    expect(headers['retry-after']).toBe('1')
    expect(body.errors).toMatchObject([{ message: expect.stringContaining('10 expensive requests under way') }])
    const remaining = Number(headers['ratelimit-remaining'])
    expect(body.extensions.cost).toMatchObject({ requested: 4, actual: 1, remaining })
  }
  const answered = (await Promise.all(sent)).filter(({ status }) => status === 200)
  expect(answered).toHaveLength(10)
  expectWhole(...answered, await client.graphql(one.secret, productSearch))
})

test('when many searches of one request wait, one connection stays free for other requests', async () => {
  const list = 'catalogVouchers(filter: { text: "gift" }) { nodes { id } }'
  const many = ofTenant(repeatTimes(10, at => `list${at}: ${list}`).join(' '))
  const { sent, others, waiting } = await whileLocked(async () => {
    const sent = [client.graphql(one.secret, many)]
    await untilLockWaits(watcher)
    return { sent, others: await askOthers(), waiting: await waitingSessions() }
  })
  expect(waiting).toBe(1)
  expectWhole(...others, ...(await Promise.all(sent)))
})
