import type { FastifyInstance } from 'fastify'
import type { Pool } from '../db/connect.ts'
import { countMissingMigrations } from '../db/migrate.ts'

/**
 * `GET /livez`: the process answers. `GET /readyz`: 200 only when the database answers and is migrated, with each
 * check by name. Neither needs a token, and neither tells why.
 */
export function registerHealth(app: FastifyInstance, pool: Pool): void {
  app.get('/livez', () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    const checks = { database: 'failing', migrations: 'failing' }
    try {
      const missing = await countMissingMigrations(pool)
      checks.database = 'ok'
      if (missing === 0) checks.migrations = 'ok'
    } catch (error) {
      app.log.warn({ err: error }, 'not ready')
    }
    const ready = Object.values(checks).every(check => check === 'ok')
    return reply.code(ready ? 200 : 503).send({ status: ready ? 'ok' : 'failing', checks })
  })
}
