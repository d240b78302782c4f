/**
 * What one hostile request costs: `npm run bench:hostile`. Sends a generated corpus, one request after the other, to the
 * service in a process of its own, and reads how much CPU time the process used. Beside it, `/livez` is asked all the
 * time. Exits with 1 when a request costs more than the bar, or when `/livez` waits longer than its bar.
 */
import { Agent, request as send } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { processClock } from './harness/cpu.ts'
import { openSeeded } from './harness/database.ts'
import { compile } from './harness/packages.ts'
import { startProcess } from './harness/process.ts'
import { hostileDocuments } from './hostile/graphql-documents.ts'

/** Milliseconds of CPU time for one request, and of waiting for `/livez`. */
const bar = { request: 300, livez: 500 }

const { values: options } = parseArgs({
  options: {
    /** Only requests whose names hold this text. */
    only: { type: 'string', default: '' },
    /** How often each is sent: the least is taken, because what else runs on the machine only adds to it. */
    times: { type: 'string', default: '3' },
    /** How many of the costliest are printed. */
    top: { type: 'string', default: '15' },
  },
})

interface Hostile {
  name: string
  method: string
  path: string
  headers: Record<string, string>
  body?: string
}

interface Measured {
  name: string
  status: number
  bytes: number
  milliseconds: number
  /** The longest that `/livez` waited beside it, in milliseconds. */
  livez: number
}

const isOver = ({ milliseconds, livez }: Measured) => milliseconds > bar.request || livez > bar.livez

/** The longest body that the transport reads, in bytes: a longer one is refused for its length. */
const bodyLimit = 100 * 1024

function* requests(secret: string): Generator<Hostile> {
  const headers = { accept: 'application/json', authorization: `Bearer ${secret}`, 'content-type': 'application/json' }
  for (const { name, query, operationName, variables = 'null' } of hostileDocuments()) {
    const body = `${JSON.stringify({ query, operationName }).slice(0, -1)},"variables":${variables}}`
    if (Buffer.byteLength(body) > bodyLimit)
      throw new Error(`${name}: ${body.length} is longer than the transport reads.`)
    yield { name, method: 'POST', path: '/graphql', headers, body }
  }
}

const agent = new Agent({ keepAlive: true })

function exchange(origin: string, { method, path, headers, body }: Omit<Hostile, 'name'>) {
  return new Promise<{ status: number; bytes: number }>((resolve, reject) => {
    const request = send(`${origin}${path}`, { method, headers, agent }, response => {
      let bytes = 0
      response.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, bytes }))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end(body)
  })
}

compile()
const database = await openSeeded('short', text => process.stderr.write(`${text}\n`))
const service = await startProcess('node', ['dist/main.js', 'serve'], {
  PATH: process.env.PATH,
  DATABASE_URL: database.url,
  PORT: '0',
  LOG_LEVEL: 'silent',
  RATE_LIMIT_PER_MINUTE: '1000000',
})
const { origin, pid } = service
const clock = processClock(pid)

/** Asks for `/livez` again and again until the work is done. @returns the longest wait, in milliseconds */
async function longestWaitBeside(work: Promise<unknown>): Promise<number> {
  let done = false
  const finished = work.finally(() => {
    done = true
  })
  let longest = 0
  do {
    const started = performance.now()
    await exchange(origin, { method: 'GET', path: '/livez', headers: {} })
    longest = Math.max(longest, performance.now() - started)
    await sleep(5)
  } while (!done)
  await finished
  return longest
}

const measured: Measured[] = []
try {
  for (const hostile of requests(database.secret)) {
    if (!hostile.name.includes(options.only)) continue
    let least: Measured | null = null
    for (let time = 0; time < Number(options.times) && (least === null || isOver(least)); time++) {
      const before = clock()
      const answer = exchange(origin, hostile)
      const livez = await longestWaitBeside(answer)
      const milliseconds = Math.round((clock() - before) * 1000)
      const next = { name: hostile.name, ...(await answer), milliseconds, livez }
      if (least === null || next.milliseconds < least.milliseconds) least = next
    }
    if (least !== null) measured.push(least)
  }
} finally {
  await service.stop()
  await database.close()
}

measured.sort((one, other) => other.milliseconds - one.milliseconds)
for (const { name, status, milliseconds, bytes, livez } of measured.slice(0, Number(options.top))) {
  const figures = [`${milliseconds} ms`, `/livez ${livez.toFixed(0)} ms`, status, `${bytes} bytes`]
  console.log(`${figures.map(figure => String(figure).padStart(14)).join('')}  ${name}`)
}
const over = measured.filter(isOver)
const faults = measured.filter(({ status }) => status >= 500)
for (const { name, status } of faults) console.log(`answered with ${status}: ${name}`)
console.log(
  `${measured.length} requests; ${over.length} cost more than ${bar.request} ms of CPU time, or kept /livez waiting for ${bar.livez} ms.`,
)
if (over.length + faults.length > 0) process.exitCode = 1
