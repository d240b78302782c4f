import { setTimeout as pause } from 'node:timers/promises'
import { coalesceReads } from '../async/coalesce-reads.ts'
import type { Sql } from '../db/sql.ts'
import { countEndpoints } from '../domain/event/endpoint.ts'
import { readSyncState } from '../domain/sync/full-pass.ts'
import { countTokensInNeed } from '../domain/token/list.ts'
import { readStepState } from '../projection/step-state.ts'
import { readLag } from '../staging/subscription.ts'
import * as metrics from './registry.ts'

/** The maximum wait of a scrape for the database, in milliseconds. */
const timeLimitMs = 1_000

/**
 * Creates the reader of the metrics of the database.
 *
 * @param report receives the error of a read that failed
 * @returns a function that reads the metrics as text. A value that the database does not return within a second is left
 *   out
 */
export function createDatabaseReader(sql: Sql, report: (error: unknown) => void): () => Promise<string> {
  const read = coalesceReads(async () => {
    const [steps, sync, lag, tokens, webhooks] = await Promise.all([
      readStepState(sql),
      readSyncState(sql),
      readLag(sql, { isRecent: true }),
      countTokensInNeed(sql),
      countEndpoints(sql),
    ])
    return { steps, sync, lag, tokens, webhooks }
  }, timeLimitMs)
  return async () => {
    const known = read().catch(error => {
      report(error)
      return null
    })
    const facts = await Promise.race([known, pause(timeLimitMs, null, { ref: false })])
    metrics.setOrRemove(metrics.stepAge, facts?.steps.secondsSinceStep)
    metrics.setOrRemove(metrics.recordsBehind, facts?.steps.secondsBehind)
    metrics.setOrRemove(metrics.recordsDiffered, facts?.steps.differed)
    metrics.setOrRemove(metrics.syncEpoch, facts?.sync.epoch)
    metrics.setOrRemove(metrics.notesWaiting, facts?.steps.waiting)
    metrics.setOrRemove(metrics.rejectedKeys, facts?.steps.rejected)
    metrics.setOrRemove(metrics.subscriptionLag, facts?.lag?.behind)
    metrics.setOrRemove(metrics.subscriptionWalLeft, facts?.lag?.log_left)
    metrics.setOrRemove(metrics.tokensEnding, facts?.tokens.expiring)
    metrics.setOrRemove(metrics.webhookLag, facts?.webhooks.lag)
    metrics.webhooks.reset()
    if (facts) {
      const { active, failing, paused } = facts.webhooks
      metrics.webhooks.set({ state: 'active', reason: '' }, active)
      metrics.webhooks.set({ state: 'failing', reason: '' }, failing)
      for (const [reason, count] of Object.entries(paused)) metrics.webhooks.set({ state: 'paused', reason }, count)
    }
    return metrics.databaseRegistry.metrics()
  }
}
