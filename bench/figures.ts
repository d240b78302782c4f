/**
 * The cost of figures: `npm run bench -- figures`. Five years of a group with 1,000 tenants and 5 million vouchers; each
 * figure of the whole group, of a group within it, of its largest and of a small tenant, without and beside a writer.
 *
 * The first run fills a database and keeps it. The times of the server's process show what a figure costs also on a
 * machine that does other work.
 */
import { mkdirSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { connect, serviceRole } from '../src/db/connect.ts'
import { migrate } from '../src/db/migrate.ts'
import { describeFill, fill } from './figures/fill.ts'
import { measureFigures, scopes } from './figures/measure.ts'
import { seed, seedVersion, sizes } from './figures/seed.ts'
import { write } from './figures/writer.ts'
import { startDatabaseServer } from './harness/database-server.ts'
import { buildService, root } from './harness/packages.ts'
import { describeRun, logProgress, record, table } from './harness/report.ts'
import { dataHome } from './harness/seeded-database.ts'

const { values: options } = parseArgs({
  options: {
    /** The directory of the database. */
    data: { type: 'string', default: `${dataHome}figures` },
    /** The number of times that each figure is read. */
    reads: { type: 'string', default: '15' },
    /** A small database and few reads: shows that the benchmark works. */
    short: { type: 'boolean', default: false },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
if (options.short && options.record) throw new Error('The figures of --short are not recorded.')
const size = sizes[options.short ? 'short' : 'full']
const serviceOptions = { max: 1, statementTimeoutMs: 0, role: serviceRole }
const reads = options.short ? 2 : Number(options.reads)

buildService(root)
mkdirSync(options.data, { recursive: true, mode: 0o711 })
const dataDir = `${options.data}/${options.short ? 'short' : 'full'}-${seedVersion}`
const server = await startDatabaseServer({ dataDir, sharedBuffers: options.short ? '256MB' : '3GB' })
try {
  const admin = server.open('postgres')
  const [found] = await admin`select from pg_database where datname = 'figures'`
  if (!found) {
    await admin.unsafe('drop database if exists filling')
    await admin.unsafe('create database filling')
    const filling = server.open('filling')
    await migrate(filling)
    await seed(filling, size, logProgress)
    const service = connect(server.address('filling'), serviceOptions)
    await fill(filling, service)
    await service.end()
    logProgress('figures')
    await filling.end()
    await admin.unsafe('alter database filling rename to figures')
  }
  const pool = connect(server.address('figures'), serviceOptions)
  const owner = server.open('figures')
  const filled = await describeFill(owner)
  await owner.end()
  const alone = await measureFigures(pool, reads)
  logProgress('measured without a writer')
  const stopWriting = write(server.open('figures'), size.vouchers)
  const beside = await measureFigures(pool, reads)
  const written = await stopWriting()
  const heads = ['figure', 'period', ...Object.keys(scopes)]
  const text = `${describeRun(server.version)} ${size.vouchers.toLocaleString('en')} vouchers, ${size.customers.toLocaleString('en')} customers, 1,000 tenants. ${filled}

Median time of the server's process in ms, then median and 95th percentile from call to answer, of ${reads} reads each.

${table(heads, alone)}

Beside a writer (${written.toLocaleString('en')} changes of vouchers in the meantime, figures follow five times a second):

${table(heads, beside)}`
  console.log(options.short ? `The figures of a short run mean nothing.\n\n${text}` : text)
  if (options.record) record('Figures', text)
  await pool.end()
  await admin.end()
} finally {
  await server.stop()
}
