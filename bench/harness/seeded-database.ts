/** Databases that are seeded and filled once, and kept between runs in bench/.data. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clusterOf } from '../../packages/embedded/src/paths.ts'
import type { Pool } from '../../src/db/sql.ts'
import { createMigrated, type DatabaseAddress, type DatabaseServer, startDatabaseServer } from './database-server.ts'
import { bench, root } from './packages.ts'
import { createToken, type Installation } from './processes.ts'
import { type Size, seedRecords, sizes, treeOf } from './seed.ts'

/** The directory of the databases. */
const dataHome = `${bench}.data/`

const name = 'bench'

/** A seeded database with its own server, and the service of the working tree. */
export interface SeededDatabase extends Installation {
  size: Size
  sql: Pool
  address: DatabaseAddress
  /** The secret of a token that has all permissions at all tenants. */
  secret: string
  version: string
  close(): Promise<void>
}

/** The record that is stored with a kept database. */
interface Kept {
  /** The hash of the files that the database was created from. */
  source: string
  secret: string
}

/** @returns the hash of the files that a database is created from */
function sourceHash(size: Size): string {
  const hash = createHash('sha256')
    .update(JSON.stringify(size))
    .update(readFileSync(`${bench}harness/seed.ts`))
  for (const directory of ['sql', 'mappings/plain']) {
    const files = readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
    for (const file of files.filter(file => file.endsWith('.sql')).sort())
      hash.update(readFileSync(join(root, directory, file)))
  }
  return hash.digest('hex')
}

function readCacheRecord(file: string): Kept | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

/**
 * Starts the server of a kept database. Creates the database when there is none, or when the migrations, the mappings or the
 * seed have changed. The service must have been built.
 */
export async function openSeeded(sizeName: keyof typeof sizes): Promise<SeededDatabase> {
  mkdirSync(dataHome, { recursive: true, mode: 0o711 })
  const size = sizes[sizeName]
  const dataDir = join(dataHome, sizeName)
  const keptFile = `${dataDir}.json`
  const source = sourceHash(size)
  let kept = readCacheRecord(keptFile)
  if (kept?.source !== source) {
    kept = null
    rmSync(keptFile, { force: true })
    // The cluster may be in another place.
    if (existsSync(dataDir)) rmSync(clusterOf(dataDir), { recursive: true, force: true })
    rmSync(dataDir, { recursive: true, force: true })
  }
  const server = await startDatabaseServer({ dataDir, sharedBuffers: size.vouchers > 2_000_000 ? '3GB' : '1GB' })
  try {
    if (!kept) {
      kept = { source, secret: await createSeeded(server, size) }
      writeFileSync(keptFile, JSON.stringify(kept), { mode: 0o600 })
    }
    const sql = server.open(name)
    return {
      size,
      sql,
      address: server.address(name),
      checkout: root,
      databaseUrl: server.url(name),
      secret: kept.secret,
      version: server.version,
      async close() {
        await sql.end({ timeout: 1 })
        await server.stop()
      },
    }
  } catch (error) {
    await server.stop()
    throw error
  }
}

/** @returns the secret of the token */
async function createSeeded(server: DatabaseServer, size: Size): Promise<string> {
  const installation = await createMigrated(server, name, root)
  const sql = server.open(name)
  await seedRecords(sql, size)
  await sql.end()
  return createToken(installation, treeOf(size).root)
}
