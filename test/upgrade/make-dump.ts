/**
 * Writes the dump of a release, which README.md describes. Uses the packaged PostgreSQL, whose dumps all later versions
 * can restore.
 */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import postgres from '#postgres'
import { createWorld, writeRecords } from '../faults/support/world.ts'
import { packagedPrograms, startPackaged } from '../support/packaged-postgres.ts'
import { type DumpHead, digestsUpTo, fileOf, readPromises } from './dumps.ts'

const [release] = process.argv.slice(2)
if (release === undefined) throw new Error('Give the name of the release, for example 1.1.0.')

const { host, port, user, stop } = await startPackaged({ fsync: 'off' })
try {
  const server = {
    url: (database: string) => `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
    async use<Result>(database: string, work: (sql: postgres.Sql) => PromiseLike<Result>): Promise<Result> {
      const sql = postgres({ host, port, user, database, max: 1, onnotice: () => {} })
      try {
        return await work(sql)
      } finally {
        await sql.end()
      }
    },
  }
  const { owners } = await createWorld(server, 'gateway')
  const problems = await writeRecords(server, 'gateway')
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  const options = '--no-owner --inserts --rows-per-insert=100 gateway'.split(' ')
  const args = ['-h', host, '-p', String(port), '-U', user, ...options]
  const dump = execFileSync(join(packagedPrograms(), 'pg_dump'), args, { encoding: 'utf8', maxBuffer: 1e9 })
  const promises = await server.use('gateway', sql => readPromises(sql))
  const head: DumpHead = { owners, migrations: digestsUpTo(Infinity), promises }
  // Commands of psql are removed, because the driver runs the dump.
  const statements = dump.replaceAll(/^\\(un)?restrict .*\n/gm, '')
  writeFileSync(fileOf(release), gzipSync(`-- ${JSON.stringify(head)}\n${statements}`, { level: 9 }))
} finally {
  await stop()
}
