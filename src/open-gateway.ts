import { randomBytes } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from './config/config.ts'
import type { Pool } from './db/sql.ts'
import { createCursorCipher } from './domain/cursor.ts'
import { ExpensiveRequests } from './domain/rate/expensive-requests.ts'
import { getOrCreateSecret } from './domain/setting.ts'
import { createTenantScope } from './domain/token/scope.ts'
import type { Gateway } from './graphql/context.ts'
import { openRateCounter } from './rate-counter.ts'

/**
 * Opens the parts of the service that all requests share, as the configuration asks for them.
 *
 * @param ratePool the connection for counting rates
 * @returns the parts, and `close`, which closes the counter of rates
 */
export async function openGateway(config: Config, pool: Pool, ratePool: Pool, log: FastifyBaseLogger) {
  const cursorKey = config.cursorKey ?? (await getOrCreateSecret(pool, 'cursor_key', randomBytes(32)))
  const { counter, close } = await openRateCounter(config, pool, ratePool, log)
  const gateway: Gateway = {
    pool,
    recordPool: pool,
    cursors: createCursorCipher(cursorKey),
    scope: createTenantScope(pool),
    rate: { limit: config.rateLimitPerMinute, counter },
    expensiveRequests: new ExpensiveRequests(),
    redemptionTokenTtl: config.redemptionTokenTtl,
  }
  return { gateway, close }
}
