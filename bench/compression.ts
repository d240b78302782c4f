/**
 * What compressed answers cost, and what they save: `npm run bench:compression`. First pages of the demo data, asked for
 * over HTTP in turns, with and without compression; then the compressors by themselves.
 */
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import { readConfig } from '../src/config.ts'
import { connect, type Pool } from '../src/db/connect.ts'
import { startEmbedded } from '../src/db/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { demoTenant, loadDemo } from '../src/demo/load.ts'
import { permissionNames } from '../src/domain/permission.ts'
import { createToken } from '../src/domain/token-lifecycle.ts'
import { codings, compressibleFrom } from '../src/http/compression.ts'
import { restPath } from '../src/http/paths.ts'
import { buildServer } from '../src/server.ts'
import { Load } from './harness/load.ts'
import { installPackages } from './harness/packages.ts'
import { describeQuartiles, median, record, table } from './summary.ts'

const { values: options } = parseArgs({
  options: {
    rounds: { type: 'string', default: '35' },
    /** Of each turn over HTTP. */
    seconds: { type: 'string', default: '0.3' },
    /** Writes the results into RESULTS.md. */
    record: { type: 'boolean', default: false },
  },
})
const rounds = Number(options.rounds)
const seconds = Number(options.seconds)
/** The compressors by themselves are measured in moments. */
const roundsAlone = 2 * rounds
const say = (text: string) => process.stderr.write(`${text}\n`)

/** Rounds that are not kept: after them all is compiled. */
const warmUp = 3

/** Measures all in turns, so that nobody is always the first. */
async function takeTurns<Figures>(
  turns: Record<string, () => Promise<Figures>>,
  rounds: number,
): Promise<Record<string, Figures[]>> {
  const names = Object.keys(turns)
  const kept: Record<string, Figures[]> = Object.fromEntries(names.map(name => [name, []]))
  for (let round = 0; round < warmUp + rounds; round++) {
    for (const place of names.keys()) {
      const name = names[(place + round) % names.length]!
      const figures = await turns[name]!()
      if (round >= warmUp) kept[name]!.push(figures)
    }
  }
  return kept
}

/** The processor's time that this process has used, all threads together, in microseconds. */
function used(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** The service over demo data, listening twice: with compression and without. */
async function startServices(sql: Pool) {
  await migrate(sql)
  await loadDemo(sql, { scale: 1 })
  const { tenantId } = demoTenant
  const { secret } = await createToken(
    sql,
    { name: 'bench', address: null },
    {
      name: 'Bench',
      contact: null,
      rateLimit: null,
      permissions: [...permissionNames],
      tenants: [{ tenantId, withDescendants: true }],
      expiresAt: null,
    },
  )
  const [voucher] = await sql<{ id: number }[]>`select id from purchased_voucher where tenant_id = ${tenantId} limit 1`
  await sql.unsafe('analyze')
  const start = (COMPRESSION: 'on' | 'off') =>
    buildServer(readConfig({ COMPRESSION, LOG_LEVEL: 'error', RATE_LIMIT_PER_MINUTE: '1000000' }), sql)
  const services = { on: await start('on'), off: await start('off') }
  for (const service of Object.values(services)) await service.listen({ host: '127.0.0.1', port: 0 })
  const tenant = `${restPath}/tenants/${tenantId}`
  return {
    services,
    headers: { accept: 'application/json', authorization: `Bearer ${secret}` },
    paths: {
      'a page of 50 vouchers': `${tenant}/sales/purchased-vouchers`,
      'a page of 50 products': `${tenant}/catalog/vouchers`,
      'one voucher': `${tenant}/sales/purchased-vouchers/${voucher?.id}`,
    },
  }
}

type Services = Awaited<ReturnType<typeof startServices>>

/** What is asked of which service, by the name that it has in the results. */
const contenders: Record<string, ['on' | 'off', acceptEncoding?: string]> = {
  off: ['off'],
  'off again': ['off'],
  'on, not asked for': ['on'],
  'on, br asked for': ['on', 'br'],
  'on, gzip asked for': ['on', 'gzip'],
}

/** @returns a row for each kind of answer and each contender */
async function measureDoor({ services, headers, paths }: Services, load: Load): Promise<string[][]> {
  const rows: string[][] = []
  for (const [title, path] of Object.entries(paths)) {
    const bytes: Record<string, number> = {}
    const turns: Record<string, () => Promise<number>> = {}
    for (const [name, [service, coding]] of Object.entries(contenders)) {
      const asking = coding === undefined ? headers : { ...headers, 'accept-encoding': coding }
      const { rawPayload } = await services[service].inject({ url: path, headers: asking })
      bytes[name] = rawPayload.length
      const { port } = services[service].server.address() as AddressInfo
      turns[name] = async () => {
        const before = used()
        const { requests } = await load.put(
          `http://127.0.0.1:${port}`,
          [{ method: 'GET', path, headers: asking }],
          0,
          seconds,
        )
        return (used() - before) / requests
      }
    }
    const times = await takeTurns(turns, rounds)
    for (const [name, ofName] of Object.entries(times)) {
      rows.push([title, name, String(bytes[name]), median(ofName).toFixed(0), describeQuartiles(ofName, times.off!)])
    }
    say(`asked for ${title}`)
  }
  return rows
}

const elsewhere: Record<string, (body: string) => Promise<Buffer>> = {
  br: body => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }),
  gzip: body => promisify(gzip)(body, { level: 1 }),
}

/** The processor's time that this thread alone has used, in microseconds: all else waits for it. Linux alone. */
const usedHere = () => Number(readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ', 1)[0]) / 1000

/** Microseconds for each body. */
interface Alone {
  /** All threads together. */
  cpu: number
  /** The thread of the event loop. */
  loop: number
}

const bodiesOfTurn = 64
const atOnce = 16

/** Compresses some bodies, so many at once as the doors might have under way. */
const compressMany =
  (compress: (body: string) => Buffer | Promise<Buffer>, body: string) => async (): Promise<Alone> => {
    const [cpu, loop] = [used(), usedHere()]
    for (let done = 0; done < bodiesOfTurn; done += atOnce) {
      await Promise.all(Array.from({ length: atOnce }, () => compress(body)))
    }
    return { cpu: (used() - cpu) / bodiesOfTurn, loop: (usedHere() - loop) / bodiesOfTurn }
  }

const midOf = (figures: Alone[], figure: keyof Alone) => median(figures.map(turn => turn[figure]))

/** @returns a row for each body and coding: compressed where it stands, and by the thread pool */
async function compareThreads(bodies: Record<string, string>): Promise<string[][]> {
  const rows: string[][] = []
  for (const [title, body] of Object.entries(bodies)) {
    for (const coding of Object.keys(codings)) {
      const { here, there } = await takeTurns(
        { here: compressMany(codings[coding]!, body), there: compressMany(elsewhere[coding]!, body) },
        roundsAlone,
      )
      const figures = [here!, there!].flatMap(ofOne => [midOf(ofOne, 'cpu'), midOf(ofOne, 'loop')])
      rows.push([title, coding, ...figures.map(figure => figure.toFixed(0))])
    }
  }
  return rows
}

const lengths = [256, 384, 512, 640, 768, 1024, 1536, 2048, 4096, 8192, 16_384]

/** What an answer has in its headers for being compressed. */
const headerBytes = 'Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n'.length

/** @returns a row for each length: what is saved, and on which lines that is worth the time */
async function findBreakEven(page: string): Promise<string[][]> {
  const bodies = lengths.map(length => page.slice(0, length)).concat(page)
  const turns = bodies.flatMap(body =>
    Object.entries(codings).map(
      ([name, compress]) => [`${name} ${body.length}`, compressMany(compress, body)] as const,
    ),
  )
  const times = await takeTurns(Object.fromEntries(turns), roundsAlone)
  return bodies.map(body => {
    const bytes = Buffer.byteLength(body)
    const figures = Object.entries(codings).flatMap(([name, compress]) => {
      const compressed = compress(body).length
      const cpu = midOf(times[`${name} ${body.length}`]!, 'cpu')
      // Bits for each microsecond: Mbit/s.
      const line = ((bytes - compressed - headerBytes) * 8) / cpu
      return [String(compressed), cpu.toFixed(0), line > 0 ? line.toFixed(0) : '–']
    })
    return [String(bytes), ...figures]
  })
}

async function describe(all: Services, load: Load): Promise<string> {
  const { services, headers, paths } = all
  const bodyOf = async (path: string) => (await services.off.inject({ url: path, headers })).body
  const [vouchers, products] = [
    await bodyOf(paths['a page of 50 vouchers']),
    await bodyOf(paths['a page of 50 products']),
  ]
  const door = table(['answer', 'compression', 'bytes', 'CPU, µs', 'CPU, to off'], await measureDoor(all, load))
  const threads = table(
    ['body', 'coding', 'here: CPU, µs', 'of the event loop', 'thread pool: CPU, µs', 'of the event loop'],
    await compareThreads({ 'a page of 50 vouchers': vouchers, 'a page of 50 products': products }),
  )
  const lines = table(
    ['bytes', 'br: bytes', 'µs', 'pays below, Mbit/s', 'gzip: bytes', 'µs', 'pays below, Mbit/s'],
    await findBreakEven(vouchers),
  )
  return `${new Date().toISOString().slice(0, 10)}, ${availableParallelism()} cores of ${cpus()[0]?.model.trim()}, \
Node ${process.version}. br of quality 1, gzip of level 1; bodies from ${compressibleFrom} characters on.

Answers over HTTP, 16 connections, ${rounds} rounds in turns of ${seconds} s. CPU is that of the service's process \
for each answer, all threads together: medians. Ratios are of the same round: median (quartiles).

${door}

The compressors by themselves, ${atOnce} bodies at once: where the answer is made, and in the thread pool. CPU of all \
threads, and that of the event loop alone, which is what others wait for. Medians of ${roundsAlone} rounds.

${threads}

The beginnings of the page of vouchers. It pays on lines that are slower than so many Mbit/s: there sending what \
is saved, headers taken off, would take longer than compressing does.

${lines}`
}

installPackages()
const place = mkdtempSync(join(tmpdir(), 'gateway-compression-'))
// The server may run as another user, who has to pass through.
chmodSync(place, 0o711)
const server = await startEmbedded({ dataDir: join(place, 'data'), durable: false, settings: { autovacuum: 'off' } })
const load = new Load()
try {
  const { host, port, user, database } = server
  const sql = connect({ host, port, user, database }, { max: 10, statementTimeoutMs: 60_000 })
  const all = await startServices(sql)
  const text = await describe(all, load)
  console.log(text)
  if (options.record) record('Compression', text)
  for (const service of Object.values(all.services)) await service.close()
  await sql.end()
} finally {
  load.stop()
  await server.stop()
  rmSync(place, { recursive: true, force: true })
}
