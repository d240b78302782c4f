import {
  exportChannel,
  refusedSignInChannel,
  repairedCaptureChannel,
  requestChannel,
  statementChannel,
  stepChannel,
  streamChannel,
  subscribe,
  unparsedRequestChannel,
  webhookChannel,
} from '../channels.ts'
import type { CheckReadiness } from '../doctor/health.ts'
import * as metrics from './registry.ts'

/** Counts and measures the work of this process from now on. */
export function observe(checkReadiness: CheckReadiness): void {
  metrics.measureProcess()
  metrics.setReadReadiness(checkReadiness)
  subscribe(requestChannel.asyncEnd, ({ operation, status = 0, seconds = 0, errors, quota }) => {
    metrics.requestSeconds.add(seconds, operation, String(status))
    for (const reason of errors ?? []) metrics.requestsRefused.inc({ reason })
    if (!quota) return
    metrics.quotaSpent.inc(quota.spent)
    if (quota.refused > 0) metrics.quotaRefused.inc(quota.refused)
  })
  subscribe(statementChannel.asyncEnd, ({ name, pool, secondsWaited, seconds }) => {
    metrics.pools.add(pool)
    if (secondsWaited !== undefined) metrics.poolWaitSeconds.add(secondsWaited, pool.name)
    if (seconds !== undefined) metrics.statementSeconds.add(seconds, name ?? 'unnamed')
  })
  subscribe(stepChannel.asyncEnd, ({ result }) => {
    if (result?.keys) metrics.stepKeys.observe(result.keys)
  })
  subscribe(exportChannel.start, () => metrics.exportsRunning.inc())
  subscribe(exportChannel.asyncEnd, ({ outcome = 'unknown' }) => {
    metrics.exportsRunning.dec()
    metrics.exportsEnded.inc({ outcome })
  })
  subscribe(streamChannel.start, () => metrics.streamsOpen.inc())
  subscribe(streamChannel.asyncEnd, () => metrics.streamsOpen.dec())
  subscribe(unparsedRequestChannel, ({ code }) => metrics.requestsRefused.inc({ reason: code }))
  subscribe(refusedSignInChannel, ({ reason }) => metrics.signInsRefused.inc({ reason }))
  subscribe(webhookChannel, ({ result, seconds }) => {
    metrics.webhookDeliveries.inc({ result })
    if (result === 'delivered') metrics.webhookSeconds.observe(seconds)
  })
  subscribe(repairedCaptureChannel, () => metrics.capturesRepaired.inc())
}
