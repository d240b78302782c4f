/**
 * The cost of figures: `npm run bench -- figures`. Five years of a group with 1,000 tenants and 5 million vouchers; each
 * figure of the whole group, of a group within it, of its largest and of a small tenant, without and beside a writer.
 *
 * The times of the server's process show what a figure costs also on a machine that does other work.
 */
import { parseArgs } from 'node:util'
import { connect, serviceRole } from '../src/db/connection/connect.ts'
import { measureFigures, scopesOf } from './figures/measure.ts'
import { buildService, root } from './harness/packages.ts'
import { startService } from './harness/processes.ts'
import { describeRun, logProgress, record, table } from './harness/report.ts'
import { openSeeded } from './harness/seeded-database.ts'
import { startWriter } from './harness/writer.ts'

const { values: options } = parseArgs({
  options: {
    /** The directory of the database; bench/.data when absent. */
    data: { type: 'string' },
    /** The number of times that each figure is read. */
    reads: { type: 'string', default: '15' },
    /** A small database and few reads: shows that the benchmark works. */
    short: { type: 'boolean', default: false },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
if (options.short && options.record) throw new Error('The figures of --short are not recorded.')
const reads = options.short ? 2 : Number(options.reads)

buildService(root)
const database = await openSeeded(options.short ? 'short figures' : 'figures', options.data)
const { size, sql } = database
try {
  const pool = connect(database.address, { max: 1, statementTimeoutMs: 0, role: serviceRole })
  const [rollups] = await sql<{ rows: number; size: string }[]>`
    select count(*)::int as rows, pg_size_pretty(pg_total_relation_size('gateway.figure_rollup')) as size
    from gateway.figure_rollup`
  const alone = await measureFigures(pool, size, reads)
  logProgress('measured without a writer')
  const service = await startService(database)
  const stopWriting = startWriter(sql, size.vouchers)
  const beside = await measureFigures(pool, size, reads)
  const written = await stopWriting()
  await service.stop()
  await pool.end()
  const heads = ['figure', 'period', ...Object.keys(scopesOf(size))]
  const text = `${describeRun(database.version)} ${size.vouchers.toLocaleString('en')} vouchers, ${size.customers.toLocaleString('en')} customers, \
${size.tenants.toLocaleString('en')} tenants. ${rollups?.rows.toLocaleString('en')} rows of rollups: ${rollups?.size} with their index.

Median time of the server's process in ms, then median and 95th percentile from call to answer, of ${reads} reads each.

${table(heads, alone)}

Beside a writer (${written.toLocaleString('en')} changes of vouchers in the meantime) and the service's steps:

${table(heads, beside)}`
  console.log(options.short ? `The figures of a short run mean nothing.\n\n${text}` : text)
  if (options.record) record('Figures', text)
} finally {
  await database.close()
}
