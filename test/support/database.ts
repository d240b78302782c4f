import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import postgres from '#postgres'
import { migrate } from '../../src/db/migration/migrate.ts'
import { createBuilders } from './builders.ts'
import { afterFile } from './cleanups.ts'
import { connect, serviceRole } from './connect.ts'
import { projected } from './projected.ts'

/** Creates a database, and drops it after the tests of the file. @param options of `create database` */
async function create(options: string) {
  const { host, port, user } = inject('server')
  const database = `test_${randomBytes(6).toString('hex')}`
  const admin = postgres({ host, port, user, database: 'postgres', max: 1, onnotice: () => {} })
  await admin.unsafe(`create database ${database} ${options}`)
  afterFile(async () => {
    await admin.unsafe(`drop database ${database} with (force)`)
    await admin.end()
  })
  const url = `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
  return { address: { host, port, user, database }, url }
}

/**
 * Creates a database without tables. Opens a session of the owner, and connections with the role of the service, which
 * work after a migration.
 *
 * @param options of `create database`
 */
export async function createEmptyDatabase(options = '') {
  const database = await create(options)
  const owner = connect(database.address, { max: 1, statementTimeoutMs: 60_000 })
  const pool = connect(database.address, { max: 4, statementTimeoutMs: 10_000, role: serviceRole })
  return { ...database, owner, pool }
}

/**
 * Clones the migrated template.
 *
 * @param options of `create database`, to create and migrate a new database instead of a copy of the template
 * @returns connections with the role of the service and of the owner of the platform, and builders of platform rows
 */
export async function createDatabase(options?: string) {
  const { address, url } = await create(options ?? `template ${inject('server').templateDatabase} strategy file_copy`)
  const pooler = inject('pooler')
  const service = { max: 10, statementTimeoutMs: 10_000, role: serviceRole, startupParameters: pooler === undefined }
  const pool = connect(pooler === undefined ? address : `${pooler}${address.database}`, service)
  const platform = connect(address, { max: 4, statementTimeoutMs: 60_000 })
  if (options !== undefined) {
    await migrate(platform)
    await projected(platform)
  }
  return { pool, platform, build: createBuilders({ platform, pool }), url, address }
}

export type TestDatabase = Awaited<ReturnType<typeof createDatabase>>
