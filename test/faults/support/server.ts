/** A PostgreSQL server that a test crashes, freezes and restarts. It listens on one TCP port all the time. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  cpSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import postgres from '#postgres'
import { startEmbedded } from '../../../packages/embedded/src/embedded.ts'
import { findBinaries, findCluster } from '../../../packages/embedded/src/paths.ts'
import { freePort } from '../../support/free-port.ts'
import { until } from '../../support/until.ts'

export interface FaultServer {
  port: number
  url(database: string): string
  /** @returns a pool of the owner, with `max` connections; the caller ends it */
  open(database: string, max?: number): postgres.Sql
  /** Does something on a connection of the owner, which ends afterwards. @returns its result */
  use<Result>(database: string, work: (sql: postgres.Sql) => PromiseLike<Result>): Promise<Result>
  /** Resolves when the server accepts connections. */
  start(): Promise<void>
  /** Ends it: SIGINT as for a restart, SIGQUIT without a checkpoint. */
  stop(signal?: 'SIGINT' | 'SIGQUIT'): Promise<void>
  /** Kills a backend, so that the server ends all others and recovers as after a crash. */
  crash(): Promise<void>
  /** Suspends all its processes, without notice to their clients. */
  freeze(): void
  thaw(): void
  /** Lets a standby replay changes some time later. @param time a setting, such as `2s` */
  delay(time: string): Promise<void>
  /** Copies the cluster, while the server does not run, to a standby that follows this server. */
  createStandby(): Promise<FaultServer>
  /** Copies the cluster of the stopped server. @returns a function that restores the copy; stop the server before */
  keep(): () => void
  /** Stops the server and removes its data. */
  remove(): Promise<void>
}

const settings: Record<string, string> = {
  max_connections: '60',
  max_wal_senders: '4',
  wal_level: 'replica',
  // Limits the WAL that is kept for a lost standby.
  wal_keep_size: '64MB',
  log_min_messages: 'fatal',
  fsync: 'off',
}

/**
 * Creates a server that does not run yet.
 *
 * @param options settings
 * @param programs the directory of another server's programs; null: the programs of the embedded one
 */
export async function createFaultServer(
  options: Record<string, string> = {},
  programs: string | null = null,
): Promise<FaultServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-faults-'))
  // The server may run as another user, which needs to traverse the directory.
  chmodSync(dataDir, 0o711)
  if (programs === null) {
    const created = await startEmbedded({ dataDir, durable: false })
    await created.stop()
  } else {
    const { cluster, account } = findCluster(dataDir)
    mkdirSync(cluster, { mode: 0o700 })
    chownSync(cluster, account.uid, account.gid)
    const how = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync']
    execFileSync(join(programs, 'initdb'), ['-D', cluster, ...how], { ...account, cwd: '/', stdio: 'ignore' })
  }
  return serverOf(dataDir, await freePort(), options, programs)
}

function serverOf(
  dataDir: string,
  port: number,
  options: Record<string, string>,
  programs: string | null,
): FaultServer {
  const { cluster, account } = findCluster(dataDir)
  const bin = programs ?? findBinaries(account)
  let child: ChildProcess | null = null
  const open = (database: string, max = 1) =>
    postgres({ host: '127.0.0.1', port, user: 'postgres', database, max, onnotice: () => {}, connect_timeout: 2 })

  /** The processes of the server: its main one, and the processes that it started. */
  const processes = () => (child?.pid === undefined ? [] : [child.pid, ...childrenOf(child.pid)])

  function send(signal: NodeJS.Signals): void {
    for (const pid of processes()) kill(pid, signal)
  }

  function copyCluster(target: string): void {
    cpSync(cluster, target, { recursive: true })
    chmodSync(target, 0o700)
    for (const path of [target, ...readdirSync(target, { recursive: true, encoding: 'utf8' })]) {
      lchownSync(resolve(target, path), account.uid, account.gid)
    }
  }

  const server: FaultServer = {
    port,
    url: database => `postgres://postgres@127.0.0.1:${port}/${database}`,
    open,

    async use(database, work) {
      const sql = open(database)
      try {
        return await work(sql)
      } finally {
        await sql.end({ timeout: 1 })
      }
    },

    async start() {
      const all = { ...settings, ...options, listen_addresses: '127.0.0.1', port: String(port) }
      const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
      const args = ['-D', cluster, '-c', 'unix_socket_directories=', ...flags]
      child = spawn(join(bin, 'postgres'), args, { ...account, cwd: '/', stdio: 'ignore', detached: true })
      await untilReady(server)
    },

    async stop(signal = 'SIGINT') {
      const stopping = child
      if (!stopping || stopping.exitCode !== null || stopping.signalCode !== null) return
      const ended = new Promise(resolve => stopping.once('exit', resolve))
      send('SIGCONT')
      stopping.kill(signal)
      await ended
      child = null
    },

    async crash() {
      const [sql, other] = [open('postgres'), open('postgres')]
      const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
      await other`select 1`
      // The server ends it once it has noticed the crash; until then it accepts connections.
      const noticed = other`select pg_sleep(60)`.catch(() => {})
      kill(row?.pid ?? 0, 'SIGKILL')
      await noticed
      await Promise.all([sql.end({ timeout: 1 }), other.end({ timeout: 1 })])
      await untilReady(server)
    },

    freeze: () => send('SIGSTOP'),
    thaw: () => send('SIGCONT'),

    async delay(time) {
      await server.use('postgres', sql => sql.unsafe(`alter system set recovery_min_apply_delay = '${time}'`))
      await server.use('postgres', sql => sql`select pg_reload_conf()`)
    },

    async createStandby() {
      const copyDir = mkdtempSync(join(tmpdir(), 'gateway-faults-'))
      chmodSync(copyDir, 0o711)
      const copied = join(copyDir, 'postgres')
      copyCluster(copied)
      writeFileSync(join(copied, 'standby.signal'), '')
      lchownSync(join(copied, 'standby.signal'), account.uid, account.gid)
      const primary_conninfo = `host=127.0.0.1 port=${port} user=postgres`
      return serverOf(copyDir, await freePort(), { ...options, primary_conninfo }, programs)
    },

    keep() {
      const kept = `${cluster}.kept`
      copyCluster(kept)
      return () => {
        rmSync(cluster, { recursive: true })
        renameSync(kept, cluster)
      }
    },

    async remove() {
      await server.stop('SIGQUIT')
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
  return server
}

/** Waits until a database accepts connections and statements. */
const untilReady = ({ use }: FaultServer) =>
  until('the database answers', () => use('postgres', sql => sql`select 1`).catch(() => null), 60_000)

/** @returns the ids of the processes that a process started */
const childrenOf = (pid: number): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number)

/** Sends a signal to a process that may have ended. */
function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}
