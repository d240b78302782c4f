import { execFileSync } from 'node:child_process'
import type { TestProject } from 'vitest/node'
import { startServer } from './embedded-postgres.ts'
import { startPackaged } from './packaged-postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    server: { host: string; port: number; user: string; templateDatabase: string }
    /**
     * The address of PgBouncer in front of the server, without a database name; undefined when the tests connect
     * directly.
     */
    pooler: string | undefined
  }
}

/**
 * Starts the embedded or the packaged PostgreSQL server for the whole run, and creates a migrated template database.
 */
export default async function setUp(project: TestProject) {
  execFileSync('npm', ['run', '-s', 'build'])
  // These modules are imported after the build, which creates the driver that they load.
  const { connect } = await import('../../src/db/connection/connect.ts')
  const { migrate } = await import('../../src/db/migration/migrate.ts')
  const { makeStep } = await import('../../src/projection/step.ts')
  const settings = {
    max_connections: '300',
    max_prepared_transactions: '50',
    // Several test files have subscriptions at the same time. PostgreSQL retries a worker without a free slot after the
    // interval.
    max_logical_replication_workers: '20',
    max_worker_processes: '30',
    wal_retrieve_retry_interval: '100ms',
    // A subscription confirms only WAL that is flushed to the disk, so flushes must be frequent.
    wal_writer_delay: '10ms',
  }
  const isPackaged = project.vitest.projects.some(({ name }) => ['packaged', 'medusa'].includes(name))
  const { host, port, user, database, stop } = isPackaged
    ? await startPackaged({ ...settings, fsync: 'off' })
    : await startServer({
        ...settings,
        'pg_stat_statements.track': 'all',
        // The tests send more statements than pg_stat_statements keeps by default, and some tests search for a
        // statement.
        'pg_stat_statements.max': '50000',
      })
  const templateDatabase = 'gateway_template'
  const admin = connect({ host, port, user, database }, { max: 1, statementTimeoutMs: 60_000 })
  await admin.unsafe(`create database ${templateDatabase}`)
  await admin.end()
  const template = connect({ host, port, user, database: templateDatabase }, { max: 1, statementTimeoutMs: 60_000 })
  await migrate(template)
  // Runs the first fill of the empty database.
  while (await makeStep(template)) {}
  await template.end()
  project.provide('server', { host, port, user, templateDatabase })
  const behindPooler = project.vitest.projects.find(({ name }) => name === 'pgbouncer')
  const pooler = behindPooler ? await startPooler({ host, port, user, database }) : null
  behindPooler?.provide('pooler', pooler?.url(''))
  return async () => {
    await pooler?.remove()
    await stop()
  }
}

/** Starts PgBouncer, through which the service connects to the databases of all test files. */
async function startPooler(server: { host: string; port: number; user: string; database: string }) {
  const { connect } = await import('../../src/db/connection/connect.ts')
  const { createPgBouncer } = await import('./pgbouncer.ts')
  const { freePort } = await import('./free-port.ts')
  const login = 'gateway_login'
  const admin = connect(server, { max: 1, statementTimeoutMs: 60_000 })
  await admin.unsafe(`create role ${login} login in role voucher_gateway`)
  await admin.end()
  const pooler = createPgBouncer({ server, port: await freePort(), login })
  await pooler.start()
  return pooler
}
