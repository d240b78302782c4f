/**
 * The command `import` beside COPY of the same rows: `npm run bench -- import`. The rows of demo data, on the packaged server with
 * its defaults. A bare table has the keys and unique constraints of the plain one, but no references and no capture.
 */
import { execFileSync } from 'node:child_process'
import { createReadStream, mkdirSync, mkdtempSync, openSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { sendCopy } from '../src/db/copy.ts'
import { tableNames } from '../src/import/table.ts'
import { packagedPrograms } from '../test/support/packaged-postgres.ts'
import { postgresCpu } from './harness/cpu-time.ts'
import { createMigrated, startPackagedServer } from './harness/database-server.ts'
import { buildService, root } from './harness/packages.ts'
import { runCommand } from './harness/processes.ts'
import { describeRatios, describeRun, logProgress, median, record, table } from './harness/report.ts'
import { rotated } from './harness/rounds.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    scale: { type: 'string', default: '50' },
    record: { type: 'boolean', default: false },
  },
})
buildService(root)
const folder = mkdtempSync(join(tmpdir(), 'gateway-import-'))
const server = await startPackagedServer()

/** Writes what COPY prints of a query on the demo data. */
function write(file: string, query: string, format: string): void {
  const args = ['-c', `copy (${query}) to stdout (format csv, ${format})`, server.url('filled')]
  execFileSync(`${packagedPrograms()}/psql`, args, { stdio: ['ignore', openSync(join(folder, file), 'w'), 'inherit'] })
}

async function copyInto(schema: string): Promise<void> {
  const sql = server.open('run')
  for (const name of tableNames) {
    const copy = sql`copy ${sql(`${schema}.${name}`)} from stdin (format csv, header)`
    await sendCopy(copy, createReadStream(join(folder, `csv/${name}.csv`)))
  }
  await sql.end()
}

const installation = { checkout: root, databaseUrl: server.url('run') }
const importFrom = (files: string) => runCommand(installation, 'import', join(folder, files))
const contenders = [
  { name: 'COPY into bare tables', run: () => copyInto('bare') },
  { name: 'COPY into the plain tables', run: () => copyInto('public') },
  { name: 'import of CSV', run: () => importFrom('csv') },
  { name: 'import of NDJSON', run: () => importFrom('ndjson') },
].map(contender => ({ ...contender, seconds: [] as number[], cpu: [] as number[] }))

try {
  await createMigrated(server, 'base', root)
  const base = server.open('base')
  await base`create schema bare`
  for (const name of tableNames) await base`create table ${base(`bare.${name}`)} (like ${base(name)} including all)`
  await base.end()
  await runCommand(await createMigrated(server, 'filled', root), 'demo', '--scale', options.scale)
  for (const format of ['csv', 'ndjson']) mkdirSync(join(folder, format))
  for (const name of tableNames) {
    write(`csv/${name}.csv`, `select * from ${name}`, 'header')
    // No JSON has these characters, so that nothing is quoted.
    write(`ndjson/${name}.ndjson`, `select row_to_json(${name}) from ${name}`, `quote e'\\x01', delimiter e'\\x02'`)
  }
  const admin = server.open('postgres')
  const postgres = await postgresCpu(admin)
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const { name, run, seconds, cpu } of rotated(contenders, round)) {
      await admin`drop database if exists run with (force)`
      await admin`create database run template base`
      await admin`checkpoint`
      const [start, before] = [performance.now(), postgres()]
      await run()
      seconds.push((performance.now() - start) / 1000)
      await sleep(500) // The server has the time of a session soon after its end.
      cpu.push(postgres() - before)
      logProgress(`round ${round + 1} of ${options.rounds}: ${name}`)
    }
  }
  const rows = Number(execFileSync('sh', ['-c', `cat ${folder}/ndjson/* | wc -l`]))
  const lines = contenders.map(({ name, seconds, cpu }) => [
    ...[name, (rows / median(seconds)).toFixed(0), describeRatios(seconds, contenders[0]!.seconds)],
    ...[((median(cpu) * 1e6) / rows).toFixed(1), describeRatios(cpu, contenders[0]!.cpu)],
  ])
  const heads = ['', 'rows a second', 'time', 'PostgreSQL, µs a row', 'processor time']
  const text = `${describeRun(server.version)} ${rows} rows of demo data, ${options.rounds} rounds; ratios to the first line.

${table(heads, lines)}`
  console.log(text)
  if (options.record) record('Import', text)
  await admin.end()
} finally {
  await server.stop()
  rmSync(folder, { recursive: true, force: true })
}
