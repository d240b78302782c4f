/**
 * The cost of one hostile request: `npm run bench -- hostile`. Sends a generated corpus, one request after the other, to
 * the service in a process of its own, and reads how much CPU time that process used. Meanwhile `/livez` is requested
 * again and again. Exits with 1 when a request or `/livez` takes longer than its limit.
 */
import { scryptSync } from 'node:crypto'
import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { processCpu } from './harness/cpu-time.ts'
import { buildService, root } from './harness/packages.ts'
import { startService } from './harness/processes.ts'
import { bigTenant } from './harness/seed.ts'
import { openSeeded } from './harness/seeded-database.ts'
import { type HostileDocument, hostileDocuments } from './hostile/graphql-documents.ts'
import { type HostileRequest, hostileRequests, readLoginForm, toBytes } from './hostile/http-requests.ts'

const { values: options } = parseArgs({
  options: {
    /** The CPU time that one request may take, in milliseconds; on a slow machine, that much more. */
    limit: { type: 'string', default: '300' },
    /** Only requests whose names hold this text. */
    only: { type: 'string', default: '' },
    /** The number of tries of a request above a limit: its lowest figure counts, because other load only adds to it. */
    times: { type: 'string', default: '5' },
    /** The number of random values that each header, path and text gets beside those known to be hostile. */
    random: { type: 'string', default: '0' },
    /** The number of the costliest that are printed. */
    top: { type: 'string', default: '15' },
  },
})

/** The CPU time that `measureSlowness` takes on the machine of docs/performance.md, in milliseconds. */
const usualMs = 200

/** Returns how many times slower this machine is than that one, by its best of five tries; at least 1. */
function measureSlowness(): number {
  const tries = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage()
    scryptSync('password', 'salt', 64, { N: 2 ** 15, r: 8, p: 1, maxmem: 2 ** 26 })
    const text = JSON.stringify(Array.from({ length: 100_000 }, (_, n) => ({ n, name: `name ${n}` })))
    JSON.parse(text)
    const { user, system } = process.cpuUsage(before)
    return (user + system) / 1000
  })
  return Math.max(1, Math.min(...tries) / usualMs)
}

const slowness = measureSlowness()

/** Milliseconds of CPU time for one request, and of waiting for `/livez`. */
const limits = { request: Math.round(Number(options.limit) * slowness), livez: Math.round(500 * slowness) }

interface Measured {
  name: string
  status: number
  bytes: number
  milliseconds: number
  /** The longest wait of `/livez` during the request, in milliseconds. */
  livez: number
}

/** Returns the lowest figures of two tries: other load only adds to them. */
const lower = (one: Measured, other: Measured): Measured => ({
  ...(one.milliseconds <= other.milliseconds ? one : other),
  status: Math.min(one.status, other.status),
  livez: Math.min(one.livez, other.livez),
})

const hasFailed = ({ status }: Measured) => status >= 500
const isOver = ({ milliseconds, livez }: Measured) => milliseconds > limits.request || livez > limits.livez

/** The longest body that `/graphql` reads, in bytes. */
const bodyLimit = 100 * 1024

/** @returns a document as the body of a POST */
function toRequest(
  { name, query, operationName, variables = 'null' }: HostileDocument,
  secret: string,
): HostileRequest {
  const body = `${JSON.stringify({ query, operationName }).slice(0, -1)},"variables":${variables}}`
  if (Buffer.byteLength(body) > bodyLimit) throw new Error(`${name}: ${body.length} is longer than /graphql reads.`)
  const headers: [string, string][] = [
    ['Accept', 'application/json'],
    ['Authorization', `Bearer ${secret}`],
    ['Content-Type', 'application/json'],
  ]
  return { name: `GraphQL: ${name}`, method: 'POST', path: '/graphql', headers, body }
}

/** Sends a request as it is, on a connection of its own. @returns the status, 0 without an answer, and the bytes of the answer */
function exchange(origin: string, request: HostileRequest): Promise<{ status: number; bytes: number }> {
  const { hostname, port, host } = new URL(origin)
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: false }, () => {
      socket.write(toBytes({ ...request, headers: [...request.headers, ['Connection', 'close']] }, host))
    })
    socket.setTimeout(60_000, () => socket.destroy(new Error(`${request.name} is not answered.`)))
    socket.on('data', chunk => chunks.push(chunk))
    socket.on('error', reject)
    socket.on('close', () => {
      const answer = Buffer.concat(chunks)
      const status = /^HTTP\/1\.1 (\d+)/.exec(answer.subarray(0, 20).toString('latin1'))?.[1]
      resolve({ status: Number(status ?? 0), bytes: answer.length })
    })
  })
}

buildService(root)
const database = await openSeeded('short')
const service = await startService(database, { settings: { LOG_LEVEL: 'silent' } })
const { origin, pid } = service
const clock = processCpu(pid)

/** Requests `/livez` again and again until the work is done. @returns the longest wait, in milliseconds */
async function longestWaitDuring(work: Promise<unknown>): Promise<number> {
  let done = false
  const finished = work.finally(() => {
    done = true
  })
  let longest = 0
  do {
    const started = performance.now()
    await fetch(`${origin}/livez`)
    longest = Math.max(longest, performance.now() - started)
    await sleep(5)
  } while (!done)
  await finished
  return longest
}

const measured: Measured[] = []
try {
  const login = await readLoginForm(origin)
  // Pages and keys that the service loads at their first use.
  for (const path of ['/graphiql', '/']) await fetch(origin + path, { headers: { accept: 'text/html' } })
  await fetch(`${origin}/admin/login`, {
    method: 'POST',
    headers: { origin, cookie: login.cookie, 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams({ _csrf: login.csrfToken, email: 'unknown@example.com', password: 'x' }).toString(),
  })
  const known = { secret: database.secret, tenantId: bigTenant, origin, login }
  const documents = [...hostileDocuments()].map(document => toRequest(document, database.secret))
  for (const hostile of [...documents, ...hostileRequests(known, { randomValues: Number(options.random) })]) {
    if (!hostile.name.includes(options.only)) continue
    let lowest: Measured | null = null
    for (
      let time = 0;
      time < Number(options.times) && (lowest === null || isOver(lowest) || hasFailed(lowest));
      time++
    ) {
      const before = clock()
      const answer = exchange(origin, hostile)
      const livez = await longestWaitDuring(answer)
      const milliseconds = Math.round((clock() - before) * 1000)
      const next = { name: hostile.name, ...(await answer), milliseconds, livez }
      lowest = lowest === null ? next : lower(lowest, next)
    }
    if (lowest !== null) measured.push(lowest)
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
const failures = measured.filter(hasFailed)
for (const { name, status } of failures) console.log(`status ${status}: ${name}`)
console.log(
  `${measured.length} requests; ${over.length} cost more than ${limits.request} ms of CPU time, or made /livez wait longer than ${limits.livez} ms.`,
)
if (over.length + failures.length > 0) process.exitCode = 1
