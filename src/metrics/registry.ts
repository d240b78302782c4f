/**
 * The metrics with their descriptions, which `docs/metrics.md` also shows. No label contains text that a caller sent.
 */
import { AggregatorRegistry, Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { PoolUse } from '../channels.ts'
import type { CheckReadiness } from '../doctor/health.ts'
import { HotHistogram } from './hot-histogram.ts'

/**
 * The metrics of this process. With several processes, the values of a metric are added up, unless the metric has
 * another aggregator.
 */
export const processRegistry = new Registry()

/** The metrics of the database, which are the same in all processes. */
export const databaseRegistry = new Registry()

const registers = [processRegistry]
const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
  new Counter({ name, help, labelNames, registers })

const gauge = (name: string, help: string) => new Gauge({ name, help, registers })
const databaseGauge = (name: string, help: string) => new Gauge({ name, help, registers: [databaseRegistry] })

/** The bounds of the buckets, in seconds. A statement or a request ends within 5 s. */
const buckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

export const requestSeconds = new HotHistogram({
  name: 'http_server_request_duration_seconds',
  help: 'Time from the head of a request to the end of its answer; status 499: the caller left before the answer.',
  labelNames: ['operation', 'http_response_status_code'],
  ...{ buckets, registers },
})

export const requestsRefused = counter(
  'vgw_requests_refused_total',
  "Requests with an error, in whole or in part, by its code; requests that are no valid HTTP, by the code of Node's parser.",
  'reason',
)

export const quotaSpent = counter('vgw_quota_spent_total', 'Quota units that requests spent.')

export const quotaRefused = counter(
  'vgw_quota_refused_total',
  'Quota units that were refused, because the window of the token had none left.',
)

export const statementSeconds = new HotHistogram({
  name: 'vgw_statement_duration_seconds',
  help: 'Time from when a statement was sent to its rows or its error, by its name.',
  labelNames: ['statement'],
  ...{ buckets, registers },
})

export const poolWaitSeconds = new HotHistogram({
  name: 'vgw_pool_wait_seconds',
  help: 'Time that statements waited for a connection; without statements that were sent immediately.',
  labelNames: ['pool'],
  ...{ buckets, registers },
})

/** The pools that have sent a statement. Their gauges are read at each scrape. */
export const pools = new Set<PoolUse>()

function gaugeOfPools(name: string, help: string, read: (pool: PoolUse) => number): void {
  new Gauge({
    ...{ name, help, registers },
    labelNames: ['pool'],
    collect() {
      this.reset()
      for (const pool of pools) this.inc({ pool: pool.name }, read(pool))
    },
  })
}

gaugeOfPools('vgw_pool_connections', 'Most connections that the pool opens.', ({ connections }) => connections)
// When all connections of a pool are busy, further statements wait in the driver.
gaugeOfPools('vgw_pool_busy', 'Connections that run a statement.', ({ busy, connections }) =>
  Math.min(busy, connections),
)

export const stepKeys = new Histogram({
  name: 'vgw_step_keys',
  help: 'Keys that a step evaluated; without steps without keys, and steps of the first fill.',
  buckets: [1, 3, 10, 30, 100, 300, 1000],
  registers,
})

export const exportsRunning = gauge('vgw_exports_running', 'Bulk exports that are being sent.')

export const exportsEnded = counter(
  'vgw_exports_total',
  'Bulk exports that ended: complete, abandoned by the reader, or with the code of an error.',
  'outcome',
)

export const streamsOpen = gauge('vgw_streams_open', 'Subscriptions of GraphQL that are open, as event streams.')

export const webhookDeliveries = counter(
  'vgw_webhook_deliveries_total',
  'Tries to deliver events to webhooks: delivered, refused (an answer that is no success) or failed (no answer).',
  'result',
)

export const webhookSeconds = new Histogram({
  name: 'vgw_webhook_delivery_seconds',
  help: 'Time from the server_time of an event, to which its changes were read, to the success of the receiver, with all retries.',
  buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 60, 300, 3600],
  registers,
})

export const signInsRefused = counter(
  'vgw_sign_ins_refused_total',
  'Sign-ins of administrators that were refused.',
  'reason',
)

export const capturesRepaired = counter(
  'vgw_captures_repaired_total',
  'Sources whose triggers were missing, disabled or replaced, and that this process captured again.',
)

export const workers = new Gauge({
  name: 'vgw_workers',
  help: 'Workers of --workers that listen, and workers that do not listen yet; absent without that option.',
  labelNames: ['state'],
  registers,
})

type Readiness = Pick<Awaited<ReturnType<CheckReadiness>>, 'reasons' | 'standbys'>
let readReadiness: () => Promise<Readiness> = async () => ({ reasons: [] })

/** Sets the function that each scrape calls for the result of `/readyz`. */
export function setReadReadiness(read: CheckReadiness): void {
  readReadiness = read
}

new Gauge({
  name: 'vgw_reason',
  help: '1 while /readyz names the reason (docs/reasons.md).',
  labelNames: ['code', 'level'],
  ...{ registers, aggregator: 'max' },
  async collect() {
    const { reasons } = await readReadiness()
    this.reset()
    for (const { code, level } of reasons) this.set({ code, level }, 1)
  },
})

new Gauge({
  name: 'vgw_standby_used',
  help: '1 while records are read from the standby, by its place in DATABASE_REPLICA_URLS; otherwise 0.',
  labelNames: ['standby'],
  ...{ registers, aggregator: 'min' },
  async collect() {
    const { standbys = [] } = await readReadiness()
    this.reset()
    for (const { standby, problem } of standbys) this.set({ standby }, problem === null ? 1 : 0)
  },
})

new Gauge({
  name: 'vgw_standby_lag_seconds',
  help: 'Time between the last step of the standby and the last step of the primary.',
  labelNames: ['standby'],
  ...{ registers, aggregator: 'max' },
  async collect() {
    const { standbys = [] } = await readReadiness()
    this.reset()
    for (const { standby, lagSeconds } of standbys) if (lagSeconds !== null) this.set({ standby }, lagSeconds)
  },
})

export const stepAge = databaseGauge('vgw_step_age_seconds', 'Time since the last step; absent during the first fill.')

export const recordsBehind = databaseGauge(
  'vgw_records_behind_seconds',
  'How far the records are behind their sources; absent during the first fill.',
)

export const recordsDiffered = databaseGauge(
  'vgw_records_differed',
  'Records that the check in the background has found different from their sources. Usually 0.',
)

export const syncEpoch = databaseGauge(
  'vgw_sync_epoch',
  'Grows at each restore, copy or failover of the database, after which all clients need a full pass.',
)

export const notesWaiting = databaseGauge(
  'vgw_notes_waiting',
  'Notes and keys that no step has taken, up to 100,000 of each kind.',
)

export const rejectedKeys = databaseGauge('vgw_rejected_keys', 'Keys whose rows v1 cannot show.')

export const subscriptionLag = databaseGauge(
  'vgw_subscription_lag_bytes',
  'Log of the platform that is not applied; absent without a subscription.',
)

export const subscriptionWalLeft = databaseGauge(
  'vgw_subscription_wal_left_ratio',
  'Share of max_slot_wal_keep_size that is left at the platform; absent when it keeps all.',
)

export const tokensEnding = databaseGauge('vgw_tokens_ending', 'Active tokens that end within 14 days.')

export const webhooks = new Gauge({
  name: 'vgw_webhooks',
  help: 'Webhooks of active tokens, by state (active, failing, paused) and, when paused, by reason (administrator, failing, gone).',
  labelNames: ['state', 'reason'],
  registers: [databaseRegistry],
})

export const webhookLag = databaseGauge(
  'vgw_webhook_lag_seconds',
  'Time since the instant up to which all changes were delivered, of the webhook that is latest; webhooks in step have at most 15, paused ones do not count.',
)

/** Registers the metrics of Node (event loop, memory, garbage collection), which are measured from now on. */
export function measureProcess(): void {
  collectDefaultMetrics({ register: processRegistry })
  // Removes these gauges, because their names look like the names of counters.
  for (const noun of ['handles', 'requests', 'resources'])
    processRegistry.removeSingleMetric(`nodejs_active_${noun}_total`)
}

/** Sets a gauge without labels. When the value is unknown, removes the gauge from the metrics. */
export const setOrRemove = (gauge: Gauge, value: number | null | undefined): void =>
  value == null ? gauge.remove() : gauge.set(value)

/** The metrics that a process sends to another process. */
export type ProcessMetrics = Awaited<ReturnType<Registry['getMetricsAsJSON']>>

/** Adds up the metrics of several processes. */
export const sumMetrics = (all: readonly ProcessMetrics[]): Registry => AggregatorRegistry.aggregate([...all])
