/** Opens a migrated database, for the files that describe its catalog. */
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startEmbedded } from '../../packages/embedded/src/embedded.ts'
import type { Pool } from '../../src/db/sql.ts'

/** Migrates a database on a new embedded server, lets a function use it, and removes both. */
export async function withMigratedDatabase(use: (sql: Pool) => Promise<void>): Promise<void> {
  // The service's code imports the builds of these packages.
  execFileSync('tools/build', ['client', 'sync'])
  const { connect } = await import('../../src/db/connection/connect.ts')
  const { migrate } = await import('../../src/db/migration/migrate.ts')
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-schema-'))
  // The server may run as another user, which needs to traverse the directory.
  chmodSync(dataDir, 0o711)
  const { stop, ...address } = await startEmbedded({ dataDir, durable: false })
  try {
    const sql = connect(address, { max: 1, statementTimeoutMs: 60_000 })
    await migrate(sql)
    await use(sql)
    await sql.end()
  } finally {
    await stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}
