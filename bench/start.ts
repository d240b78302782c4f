/**
 * The time of a start, and the memory of the service: `npm run bench -- start`. Starts run on a kept embedded
 * database with the demo data, memory is measured on the database of `npm run bench -- requests`.
 */
import { parseArgs } from 'node:util'
import { Load } from './harness/load.ts'
import { restTransport } from './harness/operations.ts'
import { buildService, root } from './harness/packages.ts'
import { describeRun, logProgress, median, record, table } from './harness/report.ts'
import { openSeeded, type SeededDatabase } from './harness/seeded-database.ts'
import { readCalls } from './requests/calls.ts'
import { measureHeap, measureResident } from './start/memory.ts'
import { timeStart } from './start/time-start.ts'

const { values: options } = parseArgs({
  options: {
    /** The number of times that the service is started by each command. */
    starts: { type: 'string', default: '7' },
    /** The number of requests between the two measurements of the heap. */
    requests: { type: 'string', default: '100000' },
    /** A hundredth of the data, and one start: shows that the benchmark works. */
    short: { type: 'boolean', default: false },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
if (options.short && options.record) throw new Error('The figures of --short are not recorded.')
const starts = options.short ? 1 : Number(options.starts)
const seconds = options.short ? { load: 1, rest: 1 } : { load: 20, rest: 30 }
const requests = options.short ? 1000 : Number(options.requests)

async function describeStarts(): Promise<string> {
  // The first start creates the database.
  await timeStart('npm', ['start'])
  const rows: string[][] = []
  for (const [command, ...args] of [
    ['npm', 'start'],
    ['node', 'dist/main.js', 'serve'],
  ] as const) {
    const times: number[] = []
    for (let start = 0; start < starts; start++) times.push(await timeStart(command, args))
    const figures = [median(times), Math.min(...times), Math.max(...times)].map(time => `${time.toFixed(0)} ms`)
    rows.push([`\`${[command, ...args].join(' ')}\``, ...figures])
    logProgress(`started ${starts} times: ${command}`)
  }
  return `From the command to the first 200 of v1, on a kept embedded database, ${starts} starts:

${table(['', 'median', 'lowest', 'highest'], rows)}`
}

async function describeMemory(database: SeededDatabase): Promise<string> {
  const load = new Load()
  try {
    const transport = restTransport(database.secret)
    const calls = await readCalls(database.sql, database.size)
    const byTitle = new Map(
      ['voucher', 'vouchers', 'products'].map(name => {
        const { title, operation, samples } = calls.find(call => call.name === name)!
        return [title, samples.map(sample => transport.request(operation, sample))]
      }),
    )
    const { idle, loaded, rested } = await measureResident(database, load, [...byTitle.values()].flat(), seconds)
    logProgress('resident memory measured')
    const heap = await measureHeap(database, load, byTitle, requests)
    const answers = [...heap.perAnswer].map(([title, bytes]) => [title, `${(bytes / 1024).toFixed(0)} KiB`])
    return `Resident memory of the Node process: ${idle.toFixed(0)} MiB 5 s after the start, at most \
${loaded.toFixed(0)} MiB under ${seconds.load} s of load, ${rested.toFixed(0)} MiB ${seconds.rest} s after it.

Heap after a full collection: ${heap.before.toFixed(2)} MiB when warm, ${heap.after.toFixed(2)} MiB after \
${heap.requests.toLocaleString('en')} more requests: \
${(((heap.after - heap.before) * 1024 * 1024) / heap.requests).toFixed(1)} bytes a request.

Allocated for one answer, by V8's sampling of the heap:

${table(['', 'allocated'], answers)}`
  } finally {
    load.stop()
  }
}

buildService(root)
const database = await openSeeded(options.short ? 'short' : 'requests')
try {
  const text = [describeRun(database.version), await describeStarts(), await describeMemory(database)].join('\n\n')
  console.log(options.short ? `The figures of a short run mean nothing.\n\n${text}` : text)
  if (options.record) record('Start and memory', text)
} finally {
  await database.close()
}
