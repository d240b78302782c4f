import { randomBytes } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from './config/config.ts'
import { openRecordPool } from './db/record-pool.ts'
import type { Pool } from './db/sql.ts'
import type { StandbyPools, StandbyState } from './db/standby.ts'
import { createCursorCipher } from './domain/cursor.ts'
import { ExpensiveRequests } from './domain/rate/expensive-requests.ts'
import { getOrCreateSecret } from './domain/setting.ts'
import { createTenantScope } from './domain/token/scope.ts'
import type { Gateway } from './graphql/context.ts'
import { openRateCounter } from './rate-counter.ts'

/**
 * Opens the parts of the service that all requests share, as the configuration asks for them.
 *
 * @param pools the connections of requests, those for counting rates, and those to standbys
 * @returns the parts; the states of the standbys; and `close`, which closes the counter of rates
 */
export async function openGateway(
  config: Config,
  { pool, rates, standbys }: { pool: Pool; rates: Pool; standbys: readonly StandbyPools[] },
  log: FastifyBaseLogger,
) {
  const cursorKey = config.cursorKey ?? (await getOrCreateSecret(pool, 'cursor_key', randomBytes(32)))
  const { counter, close: closeCounter } = await openRateCounter(config, pool, rates, log)
  const reportChange = (state: StandbyState, err?: unknown) => {
    if (state.problem === null) log.info(state, 'records are read from a standby')
    else log.warn({ ...state, err }, 'no records are read from a standby')
  }
  const routed = standbys.length > 0 ? openRecordPool(pool, standbys, reportChange) : null
  const gateway: Gateway = {
    pool,
    recordPool: routed?.recordPool ?? pool,
    cursors: createCursorCipher(cursorKey),
    scope: createTenantScope(pool),
    rate: { limit: config.rateLimitPerMinute, counter },
    expensiveRequests: new ExpensiveRequests(),
    redemptionTokenTtl: config.redemptionTokenTtl,
  }
  const close = () => {
    routed?.close()
    return closeCounter()
  }
  return { gateway, standbyStates: routed?.states ?? (() => []), close }
}
