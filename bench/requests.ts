/**
 * The cost of a request: `npm run bench -- requests`. Compares this service with programs that have the same database
 * and give the same answers, each in a separate process, in turns.
 */
import { Load } from './harness/load.ts'
import { type HttpRequest, send } from './harness/operations.ts'
import { publish, readOptions } from './harness/options.ts'
import { buildService, compileContenders, root } from './harness/packages.ts'
import { describeRun, logProgress, recordInDocs } from './harness/report.ts'
import { measureRounds, type Requests } from './harness/rounds.ts'
import { openSeeded, type SeededDatabase } from './harness/seeded-database.ts'
import { type Call, readCalls } from './requests/calls.ts'
import { type Contender, isName, type Name, names, startContender } from './requests/contenders.ts'
import { compareAnswers } from './requests/equality.ts'
import { describeResults, describeSummary } from './requests/report.ts'

const options = readOptions({
  rounds: 9,
  /** The approximate time of a turn, in seconds: each contender has two turns in a round. */
  seconds: 0.5,
  /** The requests of each call to each contender before the first round. */
  'warm-up': 3000,
  /** Names of calls and contenders, separated by commas: only these. Without a call, or a contender, all of them. */
  only: '',
  /** A tenth of the data and fewer rounds: enough for its goals. `--record` also writes docs/performance.md. */
  short: false,
})
const timing = options.short
  ? { rounds: 5, seconds: 0.25, warmUp: 1500 }
  : { rounds: options.rounds, seconds: options.seconds, warmUp: options['warm-up'] }

/** Splits the words of --only into calls and contenders. */
function choose(calls: Call[]): { calls: Call[]; contenders: Name[] } {
  const words = options.only.split(',').filter(word => word !== '')
  const known = [...calls.map(({ name }) => name), ...names]
  const unknown = words.filter(word => !known.includes(word))
  if (unknown.length > 0) throw new Error(`--only takes ${known.join(', ')}, and not ${unknown.join(', ')}.`)
  const chosen = calls.filter(({ name }) => words.includes(name))
  return {
    calls: chosen.length > 0 ? chosen : calls,
    // All other answers are compared with the answers of `rest`.
    contenders: words.some(isName) ? names.filter(name => name === 'rest' || words.includes(name)) : names,
  }
}

/** @returns a contender's requests for a call; each contender gives the cursors that it understands */
async function requestsOf(contender: Contender, call: Call): Promise<HttpRequest[]> {
  const { origin, transport } = contender
  const requests: HttpRequest[] = []
  // The requests run one after the other, because a service that has just started refuses a burst of requests.
  for (const sample of call.samples) {
    const request = transport.request(call.operation, sample)
    const { next_cursor: cursor } = call.afterCursor
      ? transport.read(call.operation, JSON.parse(await send(origin, request)))
      : {}
    requests.push(
      typeof cursor === 'string' ? transport.request(call.operation, { tenant: sample.tenant, cursor }) : request,
    )
  }
  return requests
}

/** Prepares all requests, and checks that all contenders give the same answers. */
async function prepareRequests(calls: Call[], contenders: Contender[]): Promise<Requests> {
  const requests: Requests = new Map()
  for (const call of calls) {
    const ofCall = new Map<Contender, HttpRequest[]>()
    for (const contender of contenders) ofCall.set(contender, await requestsOf(contender, call))
    const records = await compareAnswers(call, ofCall)
    logProgress(
      `${call.name}: the same ${records} records from ${[...ofCall.keys()].map(({ name }) => name).join(', ')}`,
    )
    requests.set(call.name, ofCall)
  }
  return requests
}

async function compete(database: SeededDatabase): Promise<void> {
  const chosen = choose(await readCalls(database.sql, database.size))
  const load = new Load()
  const contenders: Contender[] = []
  try {
    for (const name of chosen.contenders) contenders.push(await startContender(name, database))
    logProgress(`started ${contenders.length} contenders`)
    const requests = await prepareRequests(chosen.calls, contenders)
    const results = await measureRounds(requests, load, timing)
    const { products, vouchers } = database.size
    const run = describeRun(database.version)
    const text = `${run} ${products.toLocaleString('en')} products, ${vouchers.toLocaleString('en')} vouchers.

${describeResults(chosen.calls, results, timing)}`
    publish('Requests', text)
    if (options.isRecorded) recordInDocs(`${describeSummary(chosen.calls, results)}\n\n${run}`)
  } finally {
    load.stop()
    await Promise.all(contenders.map(contender => contender.stop()))
  }
}

buildService(root)
compileContenders()
logProgress('compiled')
const database = await openSeeded(options.short ? 'short' : 'requests')
try {
  await compete(database)
} finally {
  await database.close()
}
