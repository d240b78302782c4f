/**
 * Fairness between tokens: `npm run bench -- fairness`. One token sends a load from 16 connections, as fast as it is
 * answered; other tokens send v1 pages, resolutions, searches and figures at a modest rate, first without that load and
 * then during it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { exportPath } from '../src/http/paths.ts'
import { checkGoals, type FigureWithGoal, quantile } from './harness/goals.ts'
import { Load } from './harness/load.ts'
import { type HttpRequest, post, restTransport } from './harness/operations.ts'
import { createToken, startService } from './harness/processes.ts'
import { describeRun, logProgress, publish, readOptions } from './harness/report.ts'
import { sizes, treeOf } from './harness/seed.ts'
import { openSeeded } from './harness/seeded-database.ts'

const { seconds, only } = readOptions({
  /** Seconds of each measurement. */
  seconds: 10,
  /** A part of a name. Only the loads whose names contain this text are measured. */
  only: '',
})
const tree = treeOf(sizes.fairness)

const page = (secret: string): HttpRequest =>
  restTransport(secret).request('ListPurchasedVouchers', { tenant: tree.firstLeaf })

const graphql = (secret: string, tenant: number, selection: string): HttpRequest =>
  post(secret, '/graphql', { query: `{ tenant(id: ${tenant}) { ${selection} } }` })

const days = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
const period = `period: { from: "${days(365)}", to: "${days(0)}" }`
const statuses = 'status: [EXPIRED, NOT_YET_VALID, PART_REDEEMED, REDEEMABLE, REDEEMED, VOID]'

const thirtyLists = Array.from({ length: 30 }, (_, n) => `a${n}: purchasedVouchers { nodes { id currentBalance } }`)

/**
 * The loads of one token.
 *
 * @param secret of a token without a rate limit
 * @param limited secrets of tokens with 120 operations per minute: their requests are answered up to this rate, and
 * then refused
 */
const loadsOf = (secret: string, limited: [string, string]): Record<string, HttpRequest> => ({
  'counts of a group': graphql(
    secret,
    tree.root,
    `purchasedVouchers(first: 1, withDescendants: true, filter: { ${statuses} }) { count { count precision } }`,
  ),
  'ten one-letter words': graphql(
    secret,
    tree.root,
    'purchasedVouchers(first: 50, withDescendants: true, filter: { text: "r g a e i o u b c z" }) { count { count precision } nodes { id } }',
  ),
  'figures of a group': graphql(
    secret,
    tree.root,
    `figures(${period}, by: DAY, withDescendants: true) {
       periods { from sales { value } } topProducts(first: 10) { title value } outstanding { balance } status { vouchers } }`,
  ),
  exports: {
    ...page(secret),
    path: `${exportPath}/tenants/${tree.firstLeaf}/purchased-vouchers`,
    headers: { authorization: `Bearer ${secret}` },
  },
  'v1 pages, 120 a minute': page(limited[0]),
  'thirty lists a request, 120 a minute': graphql(limited[1], tree.firstLeaf, thirtyLists.join(' ')),
})

/** A request that another token sends at a steady rate. */
interface Probe {
  name: string
  request: HttpRequest
  /** The time between two requests, in milliseconds. */
  every: number
}

/** The answers of a probe. Times in milliseconds. */
interface Answers {
  count: number
  /** The number of answers with another status than 200, or with errors of fields. */
  refused: number
  p50: number
  p95: number
}

/**
 * Sends the probes for some time, each at its own rate, even when answers are slow.
 * @returns the answers to each probe
 */
function sendProbes(origin: string, probes: readonly Probe[], seconds: number): Promise<Answers[]> {
  return Promise.all(
    probes.map(async ({ request: { path, method, headers, body }, every }) => {
      const times: number[] = []
      let refused = 0
      const send = async (due: number) => {
        const answer = await fetch(origin + path, { method, headers, ...(body !== undefined && { body }) })
        const text = await answer.text()
        times.push(performance.now() - due)
        if (answer.status !== 200 || text.slice(0, 100).includes('"errors"')) refused++
      }
      const sent: Promise<void>[] = []
      const start = performance.now() + every * Math.random()
      for (let due = start; due < start + seconds * 1000; due += every) {
        // The latency starts when the request is sent, so a timer that fires late is not counted.
        await sleep(Math.max(0, due - performance.now()))
        sent.push(send(performance.now()))
      }
      await Promise.all(sent)
      return { count: times.length, refused, p50: quantile(times, 0.5), p95: quantile(times, 0.95) }
    }),
  )
}

/** Returns the requests that other tokens send. */
const probesOf = (secret: string, other: string, reference: string): Probe[] => [
  { name: 'v1 page', request: page(secret), every: 20 },
  {
    name: 'resolution',
    request: restTransport(secret).request('ResolveVoucher', { tenant: tree.firstLeaf, voucher_reference: reference }),
    every: 50,
  },
  {
    name: 'small search',
    request: graphql(other, tree.firstLeaf, 'purchasedVouchers(filter: { currency: "GBP" }) { nodes { id } }'),
    every: 200,
  },
  {
    name: 'small figures',
    request: graphql(other, tree.firstLeaf, `figures(${period}) { totals { value } status { vouchers } }`),
    every: 400,
  },
]

const database = await openSeeded('fairness')
const load = new Load()
const [voucher] = await database.sql<{ reference: string }[]>`
  select reference from purchased_voucher where tenant_id = ${tree.firstLeaf} and not void
  and current_balance > 0 order by id desc limit 1`
const tokenOf = (...settings: string[]) => createToken(database, tree.root, ...settings)
const [loading, one, other] = await Promise.all([tokenOf(), tokenOf(), tokenOf()])
const probes = probesOf(one, other, voucher?.reference ?? '')
const service = await startService(database, { settings: { EXPORTS_PER_HOUR: '1000000' } })
await sendProbes(service.origin, probes, seconds / 2)
const figuresWithGoals: FigureWithGoal[] = []
const refused: string[] = []
const answered: string[] = []
const limitedTokenOf = () => tokenOf('--rate-limit', '120')
const loads = loadsOf(loading, [await limitedTokenOf(), await limitedTokenOf()])
for (const [name, request] of Object.entries(loads)) {
  if (!name.includes(only)) continue
  const idle = await sendProbes(service.origin, probes, seconds)
  // The load begins before the probes and ends after them.
  const sending = load.run(service.origin, [request], { seconds: seconds + 1, mayFail: true })
  await sleep(500)
  const loaded = await sendProbes(service.origin, probes, seconds)
  const { statuses } = await sending
  const counts = Object.entries(statuses).map(([status, count]) => `${count} × ${status}`)
  answered.push(`- ${name}: ${counts.join(', ')}`)
  logProgress(answered.at(-1) ?? '')
  probes.forEach((probe, at) => {
    const [before, after]: [Answers, Answers] = [idle[at]!, loaded[at]!]
    if (after.refused > 0) refused.push(`${after.refused} of ${after.count} ${probe.name} during ${name}`)
    const change = (key: 'p50' | 'p95') => `${before[key].toFixed(1)} → ${after[key].toFixed(1)} ms`
    const times = `p50 ${change('p50')}, p95 ${change('p95')}`
    figuresWithGoals.push([`${probe.name} during ${name}: p95, times`, '≤ 3', [after.p95 / before.p95], times])
  })
}
const text = `${describeRun(database.version)} ${database.size.vouchers.toLocaleString('en')} vouchers in a group of 1,000 tenants.

Answers to the load of one token, from 16 connections:

${answered.join('\n')}

The requests of other tokens, without the load → during it:

${checkGoals([...figuresWithGoals, [`refused: ${refused.join(', ') || 'none'}`, '≤ 0', [refused.length]]])}`
publish('Fairness', text)
