/** The database of `npm run bench -- requests`: seeded once, and kept between runs in bench/.data. */
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clusterOf } from '../../packages/embedded/src/paths.ts'
import type { Pool } from '../../src/db/sql.ts'
import { createMigrated, type DatabaseAddress, type DatabaseServer, startDatabaseServer } from './database-server.ts'
import { bench, root } from './packages.ts'
import { createToken, type Installation } from './processes.ts'
import { logProgress } from './report.ts'
import { rootTenant, seed, seedVersion, sizes } from './seed.ts'

/** The directory of the benchmarks' databases between runs. */
export const dataHome = `${bench}.data/`

const name = 'bench'

/** A seeded database, with a server of its own, and the working tree's service. */
export interface SeededDatabase extends Installation {
  sql: Pool
  address: DatabaseAddress
  /** The secret of a token that has all permissions at all tenants. */
  secret: string
  version: string
  close(): Promise<void>
}

/** The record that is stored beside a kept database. */
interface Kept {
  /** The hash of the files that the database was created from. */
  source: string
  secret: string
}

/** @returns the hash of the current files that a database is created from */
function sourceHash(size: keyof typeof sizes): string {
  const migrations = join(root, 'sql')
  const hash = createHash('sha256').update(JSON.stringify([seedVersion, sizes[size]]))
  for (const file of readdirSync(migrations).sort()) hash.update(file).update(readFileSync(join(migrations, file)))
  return hash.digest('hex')
}

function readKept(file: string): Kept | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

/**
 * Starts the server of the kept database. Creates the database when there is none, or when the migrations or the seed
 * have changed. The service must have been built.
 */
export async function openSeeded(size: keyof typeof sizes): Promise<SeededDatabase> {
  mkdirSync(dataHome, { recursive: true, mode: 0o711 })
  const dataDir = join(dataHome, size)
  const keptFile = join(dataHome, `${size}.json`)
  const source = sourceHash(size)
  let kept = readKept(keptFile)
  if (kept?.source !== source) {
    kept = null
    rmSync(keptFile, { force: true })
    removeCluster(dataDir)
  }
  const server = await startDatabaseServer({ dataDir, sharedBuffers: '1GB' })
  try {
    if (!kept) {
      kept = { source, secret: await createSeeded(server, size) }
      writeFileSync(keptFile, JSON.stringify(kept), { mode: 0o600 })
    }
    const sql = server.open(name)
    return {
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
async function createSeeded(server: DatabaseServer, size: keyof typeof sizes): Promise<string> {
  const installation = await createMigrated(server, name, root)
  const sql = server.open(name)
  await seed(sql, sizes[size], logProgress)
  await sql.end()
  return createToken(installation, rootTenant)
}

/** Removes a data directory, and the cluster too when it is in another place. */
function removeCluster(dataDir: string): void {
  try {
    rmSync(clusterOf(dataDir), { recursive: true, force: true })
  } catch {
    // There is no such directory yet.
  }
  rmSync(dataDir, { recursive: true, force: true })
}
