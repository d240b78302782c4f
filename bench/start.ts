/**
 * How soon the service is there, and what memory it takes: `npm run bench:start`. Starts on a kept embedded database
 * with the demo data; memory with the seeded database of `npm run bench`.
 */
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import { readCalls } from './requests/calls.ts'
import { openSeeded } from './harness/database.ts'
import { serviceDoor } from './requests/contenders.ts'
import { Load } from './harness/load.ts'
import { measureHeap, measureResident } from './harness/memory.ts'
import { compile, installPackages } from './harness/packages.ts'
import { sizes } from './harness/seed.ts'
import { timeStart } from './harness/starting.ts'
import { median, record, table } from './harness/report.ts'

const { values: options } = parseArgs({
  options: {
    /** How often it is started. */
    starts: { type: 'string', default: '7' },
    /** How many requests lie between the two looks at the heap. */
    requests: { type: 'string', default: '100000' },
    /** With a hundredth of the data, and for moments only: proves that it works. */
    short: { type: 'boolean', default: false },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
if (options.short && options.record) throw new Error('What --short measures is not for the record.')
const size = options.short ? 'short' : 'full'
const starts = options.short ? 1 : Number(options.starts)
const seconds = options.short ? { load: 1, rest: 1 } : { load: 20, rest: 30 }
const requests = options.short ? 1000 : Number(options.requests)
const say = (text: string) => process.stderr.write(`${text}\n`)

async function describeStarts(): Promise<string> {
  // The first one makes the database.
  await timeStart('npm', ['start'])
  const rows: string[][] = []
  for (const [command, args] of [
    ['npm', ['start']],
    ['node', ['dist/main.js', 'serve']],
  ] as const) {
    const times: number[] = []
    for (let start = 0; start < starts; start++) times.push(await timeStart(command, [...args]))
    const figures = [median(times), Math.min(...times), Math.max(...times)].map(time => `${time.toFixed(0)} ms`)
    rows.push([`\`${[command, ...args].join(' ')}\``, ...figures])
    say(`started ${starts} times: ${command}`)
  }
  return `From the command to the first 200 of v1, on a kept embedded database, ${starts} starts:

${table(['', 'median', 'least', 'most'], rows)}`
}

async function describeMemory(): Promise<string> {
  const database = await openSeeded(size, say)
  const load = new Load()
  try {
    const door = serviceDoor(database.secret)
    const wanted = ['voucher', 'vouchers', 'products']
    const calls = (await readCalls(database.sql, sizes[size])).filter(({ name }) => wanted.includes(name))
    const kinds = new Map(
      await Promise.all(
        wanted.map(async name => {
          const { title, operation, samples } = calls.find(call => call.name === name)!
          return [title, await Promise.all(samples.map(sample => door.ask(operation, sample, '')))] as const
        }),
      ),
    )
    const { idle, loaded, rested } = await measureResident(database, load, [...kinds.values()].flat(), seconds)
    say('resident memory measured')
    const heap = await measureHeap(database, load, kinds, requests)
    const answers = [...kinds.keys()].map(kind => [kind, `${(heap.perAnswer.get(kind)! / 1024).toFixed(0)} KiB`])
    return `Resident memory of the Node process: ${idle.toFixed(0)} MiB 5 s after the start, at most \
${loaded.toFixed(0)} MiB under ${seconds.load} s of load, ${rested.toFixed(0)} MiB ${seconds.rest} s after it.

Heap after a full collection: ${heap.before.toFixed(2)} MiB when warm, ${heap.after.toFixed(2)} MiB after \
${heap.requests.toLocaleString('en')} requests more: \
${(((heap.after - heap.before) * 1024 * 1024) / heap.requests).toFixed(1)} bytes a request.

Allocated for one answer, by V8's sampling of the heap:

${table(['', 'allocated'], answers)}`
  } finally {
    load.stop()
    await database.close()
  }
}

installPackages()
compile()
const text = `${new Date().toISOString().slice(0, 10)}, ${availableParallelism()} cores, Node ${process.version}.

${await describeStarts()}

${await describeMemory()}`
console.log(text)
if (options.record) record('Start and memory', text)
