/**
 * What a request costs: `npm run bench`. This service beside others with the same database and the same answers, each
 * in a process of its own, measured in turns.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { type Call, readCalls } from './requests/calls.ts'
import { serverClock } from './harness/cpu-time.ts'
import { openSeeded, type SeededDatabase } from './harness/database.ts'
import { compareAnswers } from './requests/equality.ts'
import { type Contender, names, startContender, takesPart } from './requests/contenders.ts'
import { Load } from './harness/load.ts'
import { compile, installPackages, root } from './harness/packages.ts'
import { drawPlot } from './requests/plot.ts'
import { describeInShort, describeResults } from './requests/report.ts'
import { measure, type Requests } from './harness/rounds.ts'
import { sizes } from './harness/seed.ts'
import { record, recordInReadme } from './harness/report.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '9' },
    seconds: { type: 'string', default: '2' },
    /** Only these calls and contenders, by name, separated by commas; without a call or a contender all of them. */
    only: { type: 'string', default: '' },
    /** Proves that the benchmark works: a hundredth of the data, one moment of each. Its figures mean nothing. */
    short: { type: 'boolean', default: false },
    /** Writes the results into RESULTS.md, and the plot. */
    record: { type: 'boolean', default: false },
  },
})
if (options.short && options.record) throw new Error('What --short measures is not for the record.')
const size = options.short ? 'short' : 'full'
const timing = options.short
  ? { rounds: 1, seconds: 0.3, warmUp: 0.2 }
  : { rounds: Number(options.rounds), seconds: Number(options.seconds), warmUp: 2 }
const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
const comparedRequests = 24

const began = performance.now()
const say = (text: string) =>
  process.stderr.write(`${((performance.now() - began) / 1000).toFixed(0).padStart(4)} s  ${text}\n`)

/** Splits what --only names into calls and contenders. */
function choose(calls: Call[]): { calls: Call[]; contenders: (typeof names)[number][] } {
  const wanted = options.only.split(',').filter(word => word !== '')
  const chosenCalls = calls.filter(call => wanted.includes(call.name))
  const chosenNames = names.filter(name => wanted.includes(name))
  const known = chosenCalls.length + chosenNames.length
  if (known < wanted.length) {
    throw new Error(
      `--only takes calls (${calls.map(({ name }) => name).join(', ')}) and contenders (${names.join(', ')}).`,
    )
  }
  return {
    calls: chosenCalls.length > 0 ? chosenCalls : calls,
    // The others' answers are compared with its.
    contenders: chosenNames.length > 0 ? names.filter(name => name === 'rest' || wanted.includes(name)) : [...names],
  }
}

/** Asks all the same, and sees that they answer the same. */
async function prepareRequests(calls: Call[], contenders: Contender[]): Promise<Requests> {
  const requests: Requests = new Map()
  for (const call of calls) {
    const ofCall = new Map()
    for (const contender of contenders.filter(({ name }) => takesPart(name, call))) {
      const asked = call.samples.map(sample => contender.door.ask(call.operation, sample, contender.origin))
      ofCall.set(contender, await Promise.all(asked))
    }
    const records = await compareAnswers(call, ofCall, comparedRequests)
    say(`${call.name}: the same ${records} records from ${[...ofCall.keys()].map(({ name }) => name).join(', ')}`)
    requests.set(call, ofCall)
  }
  return requests
}

async function compete(database: SeededDatabase): Promise<void> {
  const { sql } = database
  const chosen = choose(await readCalls(sql, sizes[size]))
  const load = new Load()
  const contenders: Contender[] = []
  try {
    for (const name of chosen.contenders) {
      const contender = await startContender(name, database)
      if (contender) contenders.push(contender)
      else say(`${name} is left out: there is no Node 24 for ${process.platform}-${process.arch}`)
    }
    say(`started ${contenders.length} contenders`)
    const requests = await prepareRequests(chosen.calls, contenders)
    const results = await measure(requests, load, { sql, clock: await serverClock(sql) }, timing, say)
    const { products, vouchers } = sizes[size]
    const where = `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model ?? 'unknown processor'}, \
${availableParallelism()} cores, Node ${process.version}, PostgreSQL ${database.version}, commit ${commit}`
    const text = `${where}. \
${products.toLocaleString('en')} products, ${vouchers.toLocaleString('en')} vouchers.

${describeResults(results, timing)}`
    console.log(options.short ? `These figures mean nothing: all works, and all answer the same.\n\n${text}` : text)
    if (!options.record) return
    record('Requests', text)
    recordInReadme(`${describeInShort(results)}\n\n${where}.`)
    mkdirSync(`${root}docs/images`, { recursive: true })
    writeFileSync(`${root}docs/images/bench.svg`, drawPlot(results))
  } finally {
    load.stop()
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}

installPackages()
compile()
say('installed and compiled')
const database = await openSeeded(size, say)
try {
  await compete(database)
} finally {
  await database.close()
}
