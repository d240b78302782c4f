/** Databases that are seeded and filled once, and kept between runs in bench/.data. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clusterOf } from '../../packages/embedded/src/paths.ts'
import { createMigrated, startEmbeddedServer } from './database-server.ts'
import { root } from './packages.ts'
import { createToken } from './processes.ts'
import { type Size, seedRecords, sizes, treeOf } from './seed.ts'

const name = 'bench'

/** @returns the hash of the files that a database is created from */
function sourceHash(size: Size): string {
  const files = ['sql', 'mappings/plain'].flatMap(directory =>
    readdirSync(join(root, directory), { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.sql'))
      .map(file => join(root, directory, file)),
  )
  const hash = createHash('sha256').update(JSON.stringify(size))
  for (const file of [`${root}bench/harness/seed.ts`, ...files.sort()]) hash.update(readFileSync(file))
  return hash.digest('hex')
}

/**
 * Starts the server of a kept database. Creates the database if it does not exist, or if the migrations, the mappings
 * or the seed have changed.
 *
 * @returns the database, with the service of the working tree, and the secret of a token with all permissions at all tenants
 */
export async function openSeeded(sizeName: keyof typeof sizes) {
  const size = sizes[sizeName]
  const dataDir = `${root}bench/.data/${sizeName}`
  /** The file with the hash of the sources of the kept database. It is written when the database is complete. */
  const [hashFile, hash] = [`${dataDir}.sha256`, sourceHash(size)]
  const isKept = existsSync(hashFile) && readFileSync(hashFile, 'utf8') === hash
  if (!isKept) {
    rmSync(hashFile, { force: true })
    // The files of the embedded server may be outside of `dataDir`.
    if (existsSync(dataDir)) rmSync(clusterOf(dataDir), { recursive: true, force: true })
    rmSync(dataDir, { recursive: true, force: true })
  }
  mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  const server = await startEmbeddedServer({ shared_buffers: size.vouchers > 2_000_000 ? '3GB' : '1GB' }, { dataDir })
  if (!isKept) {
    await createMigrated(server, name)
    await seedRecords(server.open(name), size)
    writeFileSync(hashFile, hash)
  }
  const installation = { checkout: root, databaseUrl: server.url(name) }
  const secret = await createToken(installation, treeOf(size).root)
  const { version } = server
  return { ...installation, size, sql: server.open(name), environment: server.environment(name), secret, version }
}
