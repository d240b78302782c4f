/**
 * What a change costs: `npm run bench:compare -- <commit>` sets the working tree against that commit. Both are built
 * and run side by side over one database, with a second copy of the working tree: what that pair shows is noise.
 * Linux alone: it reads /proc.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { connect } from '../src/db/connect.ts'
import { startEmbedded } from '../src/db/embedded.ts'
import { migrate } from '../src/db/migrate.ts'
import { demoTenant, loadDemo } from '../src/demo/load.ts'
import { permissionNames } from '../src/domain/permission.ts'
import { createToken } from '../src/domain/token-lifecycle.ts'
import { median, quantile, record, table } from './harness/report.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '11' },
    /** Of each turn. What the service does every two seconds falls into it. */
    seconds: { type: 'string', default: '2' },
    /** Writes the results into RESULTS.md, under this heading. */
    record: { type: 'string' },
  },
})
const [commit] = positionals
if (commit === undefined) throw new Error('Name a commit: npm run bench:compare -- HEAD~1')
const rounds = Number(options.rounds)
const milliseconds = Number(options.seconds) * 1000

/** Requests that each service has under way at once. */
const inFlight = 16

const here = fileURLToPath(new URL('..', import.meta.url))
const git = (...args: string[]) => execFileSync('git', args, { cwd: here, encoding: 'utf8' }).trim()

/** Builds a checkout with the packages of this one. */
function build(directory: string): void {
  symlinkSync(join(here, 'node_modules'), join(directory, 'node_modules'))
  execFileSync('npm', ['run', '-s', 'build'], { cwd: directory, stdio: 'inherit' })
}

/** A service that runs as a process of its own. */
interface Service {
  child: ChildProcess
  /** Where it serves REST. */
  address: string
  agent: Agent
}

async function serve(directory: string, databaseUrl: string): Promise<Service> {
  const child = spawn(process.execPath, ['dist/main.js', 'serve'], {
    cwd: directory,
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      PORT: '0',
      LOG_LEVEL: 'error',
      RATE_LIMIT_PER_MINUTE: '1000000',
      DATABASE_URL: databaseUrl,
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  for await (const chunk of child.stdout) {
    printed += chunk
    const address = /^ *REST +(\S+)\n[\s\S]*Ctrl-C/m.exec(printed)?.[1]
    if (address) return { child, address, agent: new Agent({ keepAlive: true, maxSockets: inFlight }) }
  }
  throw new Error(`The service in ${directory} did not start:\n${printed}`)
}

async function stop({ child, agent }: Service): Promise<void> {
  agent.destroy()
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** Asks once, and reads the whole answer. */
const ask = ({ address, agent }: Service, path: string, secret: string) =>
  new Promise<void>((resolve, reject) => {
    const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
    get(address + path, { agent, headers }, answer => {
      answer.on('end', () =>
        answer.statusCode === 200 ? resolve() : reject(new Error(`${path} is answered with ${answer.statusCode}`)),
      )
      answer.on('error', reject).resume()
    }).on('error', reject)
  })

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** @returns the seconds of CPU that the process has used, its own and the kernel's for it (proc_pid_stat(5)) */
function cpuSeconds({ child }: Service): number {
  const fields = readFileSync(`/proc/${child.pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
}

/** What one turn came to. */
interface Turn {
  /** Milliseconds of the service's CPU for each request. */
  cpu: number
  /** Requests a second. */
  rate: number
}

async function measure(service: Service, path: string, secret: string): Promise<Turn> {
  let asked = 0
  const cpuBefore = cpuSeconds(service)
  const start = performance.now()
  const worker = async () => {
    while (performance.now() < start + milliseconds) {
      await ask(service, path, secret)
      asked += 1
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  const seconds = (performance.now() - start) / 1000
  return { cpu: ((cpuSeconds(service) - cpuBefore) * 1000) / asked, rate: asked / seconds }
}

/** The ratios of the same rounds: their median, and the quartiles. */
function ratios(these: readonly Turn[], those: readonly Turn[], figure: keyof Turn): string {
  const found = these.map((turn, round) => turn[figure] / those[round]![figure])
  return `${median(found).toFixed(3)} (${quantile(found, 0.25).toFixed(3)}–${quantile(found, 0.75).toFixed(3)})`
}

const hash = git('rev-parse', '--short', commit)
const place = mkdtempSync(join(tmpdir(), 'gateway-compare-'))
// The server may run as another user, who has to pass through.
chmodSync(place, 0o711)
const [thatDirectory, thisDirectory] = [join(place, 'that'), join(place, 'this')]
git('worktree', 'add', '--detach', thatDirectory, commit)
const server = await startEmbedded({
  dataDir: join(place, 'data'),
  // Neither vacuum nor a checkpoint shall fall on one service and not on another.
  settings: { shared_buffers: '256MB', autovacuum: 'off', max_wal_size: '8GB' },
})
const services: Service[] = []
try {
  // A copy: others may go on with the working tree meanwhile.
  for (const part of ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'src', 'sql', 'schema']) {
    cpSync(join(here, part), join(thisDirectory, part), { recursive: true })
  }
  for (const directory of [thatDirectory, thisDirectory]) build(directory)

  const { host, port, user, database } = server
  const sql = connect({ host, port, user, database }, { max: 2, statementTimeoutMs: 60_000 })
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
  await sql.end()

  const calls = {
    'a page of purchased vouchers': `/tenants/${tenantId}/sales/purchased-vouchers`,
    'one voucher by id': `/tenants/${tenantId}/sales/purchased-vouchers/${voucher?.id}`,
    'a page of marketing signups': `/tenants/${tenantId}/customers/marketing-signups`,
  }
  const url = `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
  for (const directory of [thatDirectory, thisDirectory, thisDirectory]) services.push(await serve(directory, url))

  const outcome = Object.entries(calls).map(([name, path]) => ({ name, path, turns: services.map((): Turn[] => []) }))
  // The first round is not kept: by then all is compiled.
  for (let round = -1; round < rounds; round++) {
    for (const { path, turns } of outcome) {
      // Nobody is always the first.
      const order = services.map((_, index) => (index + round + services.length) % services.length)
      for (const index of order) {
        const turn = await measure(services[index]!, path, secret)
        if (round >= 0) turns[index]!.push(turn)
      }
    }
    process.stderr.write(`round ${round + 1} of ${rounds}\n`)
  }

  const rows = outcome.map(({ name, turns }) => {
    const [that, this_, again] = turns as [Turn[], Turn[], Turn[]]
    const [cpu, rate] = [median(that.map(turn => turn.cpu)), median(that.map(turn => turn.rate))]
    return [
      name,
      `${cpu.toFixed(3)} ms, ${rate.toFixed(0)}/s`,
      ratios(this_, that, 'cpu'),
      ratios(this_, that, 'rate'),
      ratios(again, this_, 'cpu'),
      ratios(again, this_, 'rate'),
    ]
  })
  const changed = git('status', '--porcelain', '--', 'src', 'sql', 'schema') === '' ? '' : ' with changes not committed'
  const command = process.argv
    .slice(2)
    .map(word => (/[^\w-~^/.]/.test(word) ? `'${word}'` : word))
    .join(' ')
  const text = `${new Date().toISOString().slice(0, 10)}, ${availableParallelism()} cores of ${cpus()[0]?.model.trim()}, \
Node ${process.version}. \`npm run bench:compare -- ${command}\`: that is ${hash} \
(${git('show', '-s', '--format=%s', commit)}); this is the working tree, ${git('rev-parse', '--short', 'HEAD')}${changed}.

${inFlight} requests in flight, ${rounds} rounds in turns of ${options.seconds} s, durable commits. CPU is that of the \
service's process for each request. Ratios are of the same round: median (quartiles); of CPU less is better, of \
requests a second more. The last two columns set a second copy of this against the first: what they show is noise.

${table(['call', 'that', 'CPU, this / that', 'requests/s, this / that', 'CPU, this / this', 'requests/s, this / this'], rows)}`
  console.log(text)
  if (options.record !== undefined) record(options.record, text)
} finally {
  await Promise.all(services.map(stop))
  await server.stop()
  git('worktree', 'remove', '--force', thatDirectory)
  rmSync(place, { recursive: true, force: true })
}
