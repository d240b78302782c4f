/** Judges facts: makes the reasons of each check. */
import { standbyReasons } from '../db/standby/standby.ts'
import { pauseReasons } from '../domain/event/endpoint.ts'
import { type Reason, reason } from '../reasons.ts'
import type { Facts } from './inspect.ts'

/** A line of `doctor`. */
export interface Check {
  name: string
  level: 'ok' | Reason['level']
  reasons: Reason[]
}

/** The maximum number of objects that a reason names. */
const maxNamed = 10

/** The checks by name, in the order of their lines. */
const judges: Record<string, (facts: Facts) => Reason[]> = {
  access: ({ gateway }) => [
    ...gateway.foreignRights.map(facts => reason('RIGHTS_FOREIGN', facts)),
    ...gateway.openSchemas.map(facts => reason('SCHEMA_OPEN', facts)),
  ],
  schema: ({ drift }) => {
    const objects = drift.slice(0, maxNamed).map(({ object, change }) => `${object} (${change})`)
    const more = drift.length > maxNamed ? [`${drift.length - maxNamed} more`] : []
    return drift.length === 0
      ? []
      : [reason('SCHEMA_CHANGED', { objects: [...objects, ...more].join(', '), migrate: 'voucher-gateway migrate' })]
  },
  indexes: ({ server }) => [
    ...server.invalidIndexes.map(facts => reason('INDEX_INVALID', facts)),
    ...server.bloatedIndexes.map(facts => reason('INDEX_BLOATED', facts)),
  ],
  transactions: ({ server }) => [
    ...(server.seesSessions ? [] : [reason('SESSIONS_HIDDEN', { login: server.login })]),
    ...server.transactions.map(facts => reason('TRANSACTION_OPEN', facts)),
    ...server.prepared.map(facts => reason('TRANSACTION_PREPARED', facts)),
  ],
  slots: ({ server }) => server.unusedSlots.map(facts => reason('SLOT_UNUSED', facts)),
  timeouts: ({ gateway: { transactionTimeout: value, setTimeout: statement } }) =>
    value === '0' ? [] : [reason('TRANSACTION_TIMEOUT', { value, statement })],
  vacuum: ({ server }) => [
    ...(server.vacuums ? [] : [reason('AUTOVACUUM_OFF')]),
    ...server.neverVacuumed.map(facts => reason('TABLE_NOT_VACUUMED', facts)),
    ...server.behindVacuum.map(facts => reason('DEAD_ROWS', facts)),
  ],
  rejected: ({ gateway }) =>
    gateway.rejected.map(facts => reason('KEYS_REJECTED', { ...facts, examples: facts.examples.join(', ') })),
  mappings: ({ gateway }) => gateway.codeOfOthers.map(facts => reason('MAPPING_RUNS_CODE', facts)),
  webhooks: ({ gateway }) =>
    gateway.pausedWebhooks.map(({ pauseReason, ...facts }) =>
      reason('WEBHOOK_PAUSED', { ...facts, why: pauseReasons[pauseReason] }),
    ),
  redis: ({ redis }) => {
    if (redis === null) return []
    if ('error' in redis) return [reason('REDIS_UNREACHABLE', redis)]
    return redis.policy === 'noeviction' ? [] : [reason('REDIS_EVICTS', redis)]
  },
  standbys: ({ standbys }) => standbyReasons(standbys),
  platform: ({ platform }) => [...platform],
}

/** Makes the line of a check from its reasons. */
export function toCheck(name: string, reasons: Reason[]): Check {
  const hasError = reasons.some(({ level }) => level === 'error')
  return { name, level: hasError ? 'error' : reasons.length > 0 ? 'warning' : 'ok', reasons }
}

/** Returns the checks of facts. */
export const judge = (facts: Facts): Check[] => Object.entries(judges).map(([name, find]) => toCheck(name, find(facts)))
