import type { FastifyInstance } from 'fastify'
import type { Pool } from '../db/connect.ts'
import { countMissingMigrations } from '../db/migrate.ts'
import type { TriggerWatch } from '../db/triggers.ts'

/**
 * Registers the health checks, which need no token and return no data of tenants. `GET /livez` answers while the process
 * does. `GET /readyz` is 200 only when the database answers, is migrated and has its triggers; the body lists each check,
 * and `reasons` for triggers. It reads the catalogue at each request, so a repair shows at once.
 */
export function registerHealth(app: FastifyInstance, pool: Pool, triggers: TriggerWatch): void {
  app.get('/livez', () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const checks = { database: 'failing', migrations: 'failing', triggers: 'failing' }
    let reasons: string[] = []
    try {
      const missing = await countMissingMigrations(pool)
      checks.database = 'ok'
      if (missing === 0) {
        checks.migrations = 'ok'
        reasons = await triggers.check()
        if (reasons.length === 0) checks.triggers = 'ok'
      }
    } catch (error) {
      app.log.warn({ err: error }, 'not ready')
    }
    const ready = Object.values(checks).every(check => check === 'ok')
    return reply
      .code(ready ? 200 : 503)
      .send({ status: ready ? 'ok' : 'failing', checks, ...(reasons.length > 0 && { reasons }) })
  })
}
