import { randomBytes } from 'node:crypto'
import { inject } from 'vitest'
import postgres from '#postgres'
import { connect, type Pool, serviceRole } from '../../src/db/connect.ts'
import { afterFile } from './cleanups.ts'

/** The database of one test file. */
export interface TestDatabase {
  /** Connections as the service's role. */
  pool: Pool
  /** Connections of a platform, for whose writes triggers set `updated_at`. */
  platform: Pool
  /** A connection that keeps the stamps it writes; the builders use it. */
  loader: Pool
  url: string
  address: { host: string; port: number; user: string; database: string }
}

/** Clones the migrated template database; the clone is dropped after the file's tests. */
export async function createDatabase(): Promise<TestDatabase> {
  const { host, port, user, templateDatabase } = inject('server')
  const database = `test_${randomBytes(6).toString('hex')}`
  const admin = postgres({ host, port, user, database: 'postgres', max: 1, onnotice: () => {} })
  await admin.unsafe(`create database ${database} template ${templateDatabase} strategy file_copy`)
  const address = { host, port, user, database }
  const pooler = inject('pooler')
  const service = { max: 10, statementTimeoutMs: 10_000, role: serviceRole, startupParameters: pooler === undefined }
  const pool = connect(pooler === undefined ? address : `${pooler}${database}`, service)
  const platform = connect(address, { max: 4, statementTimeoutMs: 60_000 })
  const loader = connect(address, { max: 1, statementTimeoutMs: 60_000 })
  await loader`select set_config('gateway.keep_updated_at', 'on', false)`
  afterFile(async () => {
    await Promise.all([pool.end({ timeout: 1 }), platform.end({ timeout: 1 }), loader.end({ timeout: 1 })])
    await admin.unsafe(`drop database ${database} with (force)`)
    await admin.end()
  })
  const url = `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
  return { pool, platform, loader, url, address }
}
