import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import postgres from '#postgres'
import { attachEmbedded, type EmbeddedPostgres, startEmbedded } from '../../packages/embedded/src/embedded.ts'
import { createDirectory } from '../support/directory.ts'
import { until } from '../support/until.ts'

const root = join(import.meta.dirname, '../..')
const parent = createDirectory()
const dataDir = join(parent, 'data')

async function start(options: Parameters<typeof startEmbedded>[0] = { dataDir }): Promise<EmbeddedPostgres> {
  const server = await startEmbedded(options)
  onTestFinished(() => server.stop())
  return server
}

async function query(server: EmbeddedPostgres, statement: string): Promise<unknown[]> {
  const { host, port, user, database } = server
  const sql = postgres({ host, port, user, database, max: 1, onnotice: () => {} })
  try {
    return [...(await sql.unsafe(statement))]
  } finally {
    await sql.end()
  }
}

function serverPid(): number {
  return Number(readFileSync(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])
}

function isRunning(pid: number): boolean {
  try {
    // In a container whose first process reaps no orphans, an ended server stays as a zombie without a command line.
    const isZombie = existsSync(`/proc/${pid}`) && readFileSync(`/proc/${pid}/cmdline`).length === 0
    return process.kill(pid, 0) && !isZombie
  } catch {
    return false
  }
}

/** Starts another process that can own a server. `script` can use `postgres`, `startEmbedded` and `dataDir`. */
function spawnOwner(script: string) {
  const prelude = `import postgres from '#postgres'
    const { startEmbedded } = await import(process.argv[1])
    const dataDir = process.argv[2]`
  const flags = ['--import', 'tsx', '--input-type=module', '-e', `${prelude}\n${script}`]
  const args = [...flags, join(root, 'packages/embedded/src/embedded.ts'), dataDir]
  return spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
}

it('creates a new cluster when the first start was killed before the cluster was complete', async () => {
  const owner = spawnOwner('await startEmbedded({ dataDir })')
  const draft = join(dataDir, `postgres.init-${owner.pid}`)
  await until('initdb is at work', () => existsSync(join(draft, 'base')), 60_000)
  owner.kill('SIGKILL')
  await once(owner, 'exit')
  expect(existsSync(join(dataDir, 'postgres'))).toBe(false)

  await (await startEmbedded({ dataDir, durable: false })).stop()
  expect(readdirSync(dataDir).sort()).toEqual(['postgres', 'postgres.log'])
})

it('the server runs with the given settings', async () => {
  const server = await startEmbedded({ dataDir, durable: false, settings: { work_mem: '5MB' } })
  const settings = { server_encoding: 'UTF8', listen_addresses: '', work_mem: '5MB' }
  const selected = Object.keys(settings).map(name => `current_setting('${name}') as ${name}`)
  expect(await query(server, `select ${selected}`)).toEqual([settings])
  await query(server, 'create table kept (n int); insert into kept values (1)')
  const pid = serverPid()
  await Promise.all([server.stop(), server.stop()])
  expect([isRunning(pid), existsSync(server.host)]).toEqual([false, false])
})

it('the server keeps its data across a restart, accepts other processes as clients, and refuses a second owner', async () => {
  expect(await attachEmbedded(dataDir)).toBeNull()
  const server = await start({ dataDir, durable: false })
  const refused = expect(startEmbedded({ dataDir, lockTimeoutMs: 500 })).rejects.toThrow(
    `process ${serverPid()}) is already running`,
  )
  expect(await query(server, 'select n from kept')).toEqual([{ n: 1 }])
  const attached = await attachEmbedded(dataDir)
  expect(attached).toMatchObject({ host: server.host, port: server.port })
  await attached?.stop()
  expect(await query(attached!, 'select n from kept')).toEqual([{ n: 1 }])
  await refused
  await server.stop()
  expect(await attachEmbedded(dataDir)).toBeNull()
})

it('when its owner is killed, the server ends, and the next start has all committed data', async () => {
  const owner = spawnOwner(
    `const { host, port, user, database } = await startEmbedded({ dataDir })
     const sql = postgres({ host, port, user, database })
     await sql\`insert into kept values (2)\`
     console.log(host)
     setInterval(() => {}, 1000)`,
  )
  const [host] = await once(createInterface(owner.stdout), 'line')
  const pid = serverPid()
  owner.kill('SIGKILL')
  await once(owner, 'exit')

  // A start directly after the kill must wait until the watchdog has shut the server down.
  const server = await start()
  expect(await query(server, 'select n from kept order by n')).toEqual([{ n: 1 }, { n: 2 }])
  await until('the killed owner’s server is gone', () => !isRunning(pid), 60_000)
  await until('its socket directory is gone', () => !existsSync(host), 60_000)
})

it('the next start recovers the data after the server itself was killed', async () => {
  const crashed = await start()
  await query(crashed, 'insert into kept values (3)')
  process.kill(serverPid(), 'SIGKILL')
  const server = await start()
  expect(await query(server, 'select max(n) as n from kept')).toEqual([{ n: 3 }])
  expect(existsSync(crashed.host)).toBe(false)
})

it('a copy of a running cluster can be started, and the server of the original continues', async () => {
  const server = await start()
  const copied = join(parent, 'copied')
  mkdirSync(copied, { mode: 0o711 })
  execFileSync('cp', ['-a', join(dataDir, 'postgres'), copied])
  expect(await attachEmbedded(copied)).toBeNull()
  const second = await start({ dataDir: copied })
  for (const each of [server, second]) expect(await query(each, 'select max(n) as n from kept')).toEqual([{ n: 3 }])
})
