/**
 * The cost of a request: `npm run bench -- requests`. Compares this service with programs that have the same database
 * and give the same answers, each in a separate process, in turns.
 */
import { type Contender, prepareRequests } from './harness/contenders.ts'
import { postgresCpu } from './harness/cpu-time.ts'
import { checkGoals, type FigureWithGoal, type Goal, ratios } from './harness/goals.ts'
import { connections, Load } from './harness/load.ts'
import { graphqlTransport, restTransport } from './harness/operations.ts'
import { compileHandWritten } from './harness/packages.ts'
import { startProcess, startService } from './harness/processes.ts'
import { describeRun, publish, readOptions } from './harness/report.ts'
import { describeCosts, measureRounds, valuesOf } from './harness/rounds.ts'
import { openSeeded } from './harness/seeded-database.ts'
import { readCalls } from './requests/calls.ts'

const options = readOptions({
  rounds: 9,
  /**
   * Names of calls and contenders, separated by commas. Only these are measured. If no call is named, all calls are
   * measured; if no contender is named, all contenders.
   */
  only: '',
  /** True: a tenth of the data, and shorter turns. The goals also hold for this size. */
  short: false,
})
const timing = options.short
  ? { rounds: Math.min(options.rounds, 5), seconds: 0.25, warmUp: 1500 }
  : { rounds: options.rounds, seconds: 0.5, warmUp: 3000 }

const measures = { node: 'Node', total: 'Node + Postgres' }

/** The goals for ratios of CPU time. Each ratio compares two contenders of a call. */
const targets: [side: string, base: string, measure: keyof typeof measures, goal: Goal][] = [
  ['vouchers: rest', 'vouchers: hand-written', 'node', '≤ 0.5'],
  ['products: rest', 'products: hand-written', 'node', '≤ 0.5'],
  ['voucher: rest', 'voucher: hand-written', 'node', '≤ 1'],
  ['resolution: rest', 'resolution: hand-written', 'node', '≤ 1.2'],
  ['resolution: rest', 'resolution: hand-written', 'total', '≤ 1'],
  ['vouchers: rest', 'vouchers: hand-written', 'total', '≤ 0.7'],
  ['products: rest', 'products: hand-written', 'total', '≤ 0.7'],
  ['vouchers: graphql', 'vouchers: hand-written', 'node', '≤ 1'],
  ['products: graphql', 'products: hand-written', 'node', '≤ 1'],
  // The last pages must cost no more than the first page.
  ['last: rest', 'first: rest', 'total', '≤ 1.2'],
]

const contenderNames = ['rest', 'rest again', 'graphql', 'hand-written']

const handWritten = compileHandWritten()
const database = await openSeeded(options.short ? 'short' : 'requests')
const allCalls = await readCalls(database.sql, database.size)
const callNames = allCalls.map(({ name }) => name)
const chosenNames = options.only.split(',').filter(Boolean)
const unknownNames = chosenNames.filter(name => ![...callNames, ...contenderNames].includes(name))
if (unknownNames.length > 0)
  throw new Error(`--only takes ${[...callNames, ...contenderNames]}, and not ${unknownNames}.`)
const keepChosen = (names: string[]) => (names.some(name => chosenNames.includes(name)) ? chosenNames : names)

/**
 * Starts a contender in a separate process. All contenders have the same database, and the same number of connections.
 */
async function startContender(name: string): Promise<Contender> {
  const transport = (name === 'graphql' ? graphqlTransport : restTransport)(database.secret)
  const isOther = name === 'hand-written'
  const running = await (isOther ? startProcess([handWritten], database.environment) : startService(database))
  return { name, transport, postgres: await postgresCpu(database.sql), ...running }
}

const calls = allCalls.filter(({ name }) => keepChosen(callNames).includes(name))
const contenders: Contender[] = []
for (const name of contenderNames.filter(name => keepChosen(contenderNames).includes(name))) {
  contenders.push(await startContender(name))
}
const { requests, differing } = await prepareRequests(calls, contenders)
if (differing.length > 0) throw new Error(`The contenders answer differently: ${differing.join(', ')}.`)
const results = await measureRounds(requests, new Load(), timing)
const valuesOfSide = (side: string, measure: keyof typeof measures) => {
  const [call = '', name = ''] = side.split(': ')
  return valuesOf(results, call, name, measure)
}
const figuresWithGoals = targets.flatMap(([side, base, measure, goal]): FigureWithGoal[] => {
  const [values, bases] = [valuesOfSide(side, measure), valuesOfSide(base, measure)]
  const wasMeasured = values.length > 0 && bases.length > 0
  return wasMeasured ? [[`${side} / ${base}, ${measures[measure]}`, goal, ratios(values, bases)]] : []
})
const { products, vouchers } = database.size
const text = `${describeRun(database.version)} ${products.toLocaleString('en')} products, ${vouchers.toLocaleString('en')} vouchers.

- vouchers, products: pages of 50; voucher: one by its id; resolution: of a reference
- first, last: the first page of the largest list, and its last ones; incremental: 3 to 45 changed vouchers
- rest, rest again: this service, v1, in two processes, whose ratio is noise; graphql: its \`/graphql\`, the same fields
- hand-written: Fastify, postgres.js, rows mapped to objects, \`JSON.stringify\`; without rate, permissions or tree of tenants

CPU time a request, of the Node process and of all of PostgreSQL; ${connections} connections, pools of 10; ${timing.rounds} rounds in turns of \
some ${timing.seconds} s, the second half of a round in reverse order. Figures are medians. Ratios are of the same round: median (quartiles); \
less is better.

${describeCosts(results, name => (name === 'rest again' ? 'rest' : 'hand-written'))}

${checkGoals(figuresWithGoals)}`
publish('Requests', text)
