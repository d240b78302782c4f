/**
 * Fairness between tokens: `npm run bench -- fairness`. One token sends a load from 16 connections, as fast
 * as it is answered; others send v1 pages, resolutions, searches and figures at a modest rate, without that load and during it.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { exportPath } from '../src/http/paths.ts'
import { type Answers, type Probe, sendProbes } from './fairness/probe.ts'
import { type Judged, judge } from './harness/goals.ts'
import { Load } from './harness/load.ts'
import type { HttpRequest } from './harness/operations.ts'
import { publish, readOptions } from './harness/options.ts'
import { buildService, root } from './harness/packages.ts'
import { createToken, startService } from './harness/processes.ts'
import { describeRun, logProgress, table } from './harness/report.ts'
import { sizes, treeOf } from './harness/seed.ts'
import { openSeeded } from './harness/seeded-database.ts'

const { seconds, only } = readOptions({
  /** Seconds of each measurement. */
  seconds: 10,
  /** A text: only the loads whose names contain it are measured. */
  only: '',
})
const tree = treeOf(sizes.fairness)

const page = (secret: string): HttpRequest => ({
  method: 'GET',
  path: `/api/external/v1/tenants/${tree.firstLeaf}/sales/purchased-vouchers`,
  headers: { accept: 'application/json', authorization: `Bearer ${secret}` },
})

const post = (secret: string, path: string, body: object): HttpRequest => ({
  method: 'POST',
  path,
  headers: { accept: 'application/json', authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

const graphql = (secret: string, tenant: number, selection: string): HttpRequest =>
  post(secret, '/graphql', { query: `{ tenant(id: ${tenant}) { ${selection} } }` })

const days = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10)
const period = `period: { from: "${days(365)}", to: "${days(0)}" }`
const statuses = 'status: [EXPIRED, NOT_YET_VALID, PART_REDEEMED, REDEEMABLE, REDEEMED, VOID]'

const thirtyLists = Array.from({ length: 30 }, (_, n) => `a${n}: purchasedVouchers { nodes { id currentBalance } }`)

/** The loads of one token. @param secret of a token without a rate limit */
const loadsOf = (secret: string): Record<string, HttpRequest> => ({
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
})

/** The loads of tokens with 120 operations a minute: what the rate allows, and then refusals. */
const limitedLoads: Record<string, (secret: string) => HttpRequest> = {
  'v1 pages, 120 a minute': page,
  'thirty lists a request, 120 a minute': secret => graphql(secret, tree.firstLeaf, thirtyLists.join(' ')),
}

/** Returns the requests that other tokens send. */
const probesOf = (secret: string, other: string, reference: string): Probe[] => [
  { name: 'v1 page', request: page(secret), every: 20 },
  {
    name: 'resolution',
    request: post(secret, `/api/external/v1/tenants/${tree.firstLeaf}/redemptions/resolve`, {
      voucher_reference: reference,
    }),
    every: 50,
  },
  {
    name: 'small search',
    request: graphql(
      other,
      tree.firstLeaf,
      'purchasedVouchers(first: 10, filter: { currency: "GBP" }) { nodes { id } }',
    ),
    every: 200,
  },
  {
    name: 'small figures',
    request: graphql(other, tree.firstLeaf, `figures(${period}) { totals { value } status { vouchers } }`),
    every: 400,
  },
]

buildService(root)
const database = await openSeeded('fairness')
const load = new Load()
try {
  const [voucher] = await database.sql<{ reference: string }[]>`
    select reference from purchased_voucher where tenant_id = ${tree.firstLeaf} and not void
    and current_balance > 0 order by id desc limit 1`
  const tokenOf = (...settings: string[]) => createToken(database, tree.root, ...settings)
  const [loading, one, other] = await Promise.all([tokenOf(), tokenOf(), tokenOf()])
  const probes = probesOf(one, other, voucher?.reference ?? '')
  const service = await startService(database, { settings: { EXPORTS_PER_HOUR: '1000000' } })
  await sendProbes(service.origin, probes, seconds / 2)
  const rows: string[][] = []
  const judged: Judged[] = []
  const refused: string[] = []
  const loads = loadsOf(loading)
  for (const [name, requestOf] of Object.entries(limitedLoads)) {
    loads[name] = requestOf(await tokenOf('--rate-limit', '120'))
  }
  for (const [name, request] of Object.entries(loads)) {
    if (!name.includes(only)) continue
    const idle = await sendProbes(service.origin, probes, seconds)
    // The load begins before the probes and ends after them.
    const sending = load.run(service.origin, [request], 0, { seconds: seconds + 1 }, { mayFail: true })
    await sleep(500)
    const loaded = await sendProbes(service.origin, probes, seconds)
    const { statuses } = await sending
    const counts = Object.entries(statuses).map(entry => entry.join(': '))
    logProgress(`${name}: ${counts.join(', ')}`)
    probes.forEach((probe, at) => {
      const [before, after]: [Answers, Answers] = [idle[at]!, loaded[at]!]
      const ratio = after.p95 / before.p95
      if (after.refused > 0) refused.push(`${after.refused} of ${after.count} ${probe.name} during ${name}`)
      judged.push({ name: `${probe.name} during ${name}: p95, times`, goal: '≤ 3', values: [ratio] })
      const change = (key: 'p50' | 'p95') => `${before[key].toFixed(1)} → ${after[key].toFixed(1)} ms`
      rows.push([
        at === 0 ? `${name} (${counts.join(', ')})` : '',
        probe.name,
        `${after.refused} of ${after.count}`,
        change('p50'),
        change('p95'),
        ratio.toFixed(1),
      ])
    })
  }
  await service.stop()
  const heads = ['load of one token from 16 connections', 'another token', 'refused', 'p50', 'p95', 'p95, times']
  const text = `${describeRun(database.version)} ${database.size.vouchers.toLocaleString('en')} vouchers in a group of 1,000 tenants.

${table(heads, rows)}

${judge([...judged, { name: `refused: ${refused.join(', ') || 'none'}`, goal: '≤ 0', values: [refused.length] }])}`
  publish('Fairness', text)
} finally {
  load.stop()
  await database.close()
}
