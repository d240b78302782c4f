import type { FastifyInstance } from 'fastify'
import type { Pool } from '../db/connect.ts'
import { countMissingMigrations } from '../db/migrate.ts'
import type { TriggerWatch } from '../db/triggers.ts'

/**
 * `GET /livez`: the process answers. `GET /readyz`: 200 only when the database answers and is migrated and its triggers
 * are as they must be, with each check by name, and `reasons` where a trigger is not. The catalogue is read for each
 * request: so the answer is true before the first minute has passed, and as soon as a fault is mended. Neither needs a
 * token, and neither returns data of tenants.
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
        reasons = await triggers.look()
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
