/** A PostgreSQL server that a test crashes, suspends and restarts, always on the same TCP port. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  cpSync,
  lchownSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import postgres from '#postgres'
import { startEmbedded } from '../../../packages/embedded/src/embedded.ts'
import { findBinaries, findCluster } from '../../../packages/embedded/src/paths.ts'
import { createDirectory } from '../../support/directory.ts'
import { freePort } from '../../support/free-port.ts'
import { until } from '../../support/until.ts'

const settings: Record<string, string> = {
  max_connections: '60',
  max_wal_senders: '4',
  wal_level: 'replica',
  // The amount of WAL that is kept for a disconnected standby.
  wal_keep_size: '64MB',
  log_min_messages: 'fatal',
  fsync: 'off',
}

/**
 * Creates a server that does not run yet. @param programs the directory of the PostgreSQL programs; null for the
 * embedded ones
 */
export async function createFaultServer(options: Record<string, string> = {}, programs: string | null = null) {
  const dataDir = createDirectory()
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
  return new FaultServer(dataDir, await freePort(), options, programs)
}

export class FaultServer {
  #child: ChildProcess | null = null

  constructor(
    private readonly dataDir: string,
    readonly port: number,
    private readonly options: Record<string, string>,
    private readonly programs: string | null,
  ) {}

  url(database: string): string {
    return `postgres://postgres@127.0.0.1:${this.port}/${database}`
  }

  /** Opens a pool of the owner with `max` connections, which the caller has to end. */
  open(database: string, max = 1): postgres.Sql {
    return postgres(this.url(database), { max, onnotice: () => {}, connect_timeout: 2 })
  }

  /** Runs work on a connection of the owner, and closes the connection afterwards. @returns the result of the work */
  async use<Result>(database: string, work: (sql: postgres.Sql) => PromiseLike<Result>): Promise<Result> {
    const sql = this.open(database)
    try {
      return await work(sql)
    } finally {
      await sql.end({ timeout: 1 })
    }
  }

  /** Starts the server, and waits until it accepts connections. */
  async start(): Promise<void> {
    const { cluster, account } = findCluster(this.dataDir)
    const all = { ...settings, ...this.options, listen_addresses: '127.0.0.1', port: String(this.port) }
    const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const args = ['-D', cluster, '-c', 'unix_socket_directories=', ...flags]
    const program = join(this.programs ?? findBinaries(account), 'postgres')
    this.#child = spawn(program, args, { ...account, cwd: '/', stdio: 'ignore', detached: true })
    await this.#untilReady()
  }

  /** Stops the server: SIGINT for a fast shutdown, SIGQUIT for one without a checkpoint. */
  async stop(signal: 'SIGINT' | 'SIGQUIT' = 'SIGINT'): Promise<void> {
    const stopping = this.#child
    if (!stopping || stopping.exitCode !== null || stopping.signalCode !== null) return
    const ended = once(stopping, 'exit')
    this.thaw()
    stopping.kill(signal)
    await ended
    this.#child = null
  }

  /** Kills a backend, so that the server ends all other backends and recovers as after a crash. */
  async crash(): Promise<void> {
    const [sql, other] = [this.open('postgres'), this.open('postgres')]
    const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
    await other`select 1`
    // The server ends this statement once it has noticed the crash. Until then the server accepts connections.
    const noticed = other`select pg_sleep(60)`.catch(() => {})
    process.kill(row?.pid ?? 0, 'SIGKILL')
    await noticed
    await Promise.all([sql.end({ timeout: 1 }), other.end({ timeout: 1 })])
    await this.#untilReady()
  }

  /** Suspends all processes of the server. Their connections stay open. */
  freeze(): void {
    signalAll(this.#child?.pid, 'SIGSTOP')
  }

  thaw(): void {
    signalAll(this.#child?.pid, 'SIGCONT')
  }

  /** Delays the replay of changes at a standby. @param time a value of `recovery_min_apply_delay`, such as `2s` */
  async delay(time: string): Promise<void> {
    await this.use('postgres', sql => sql.unsafe(`alter system set recovery_min_apply_delay = '${time}'`))
    await this.use('postgres', sql => sql`select pg_reload_conf()`)
  }

  /** Copies the cluster of the stopped server to a standby that will follow this server. */
  async createStandby(): Promise<FaultServer> {
    const { account } = findCluster(this.dataDir)
    const dataDir = createDirectory()
    const copied = join(dataDir, 'postgres')
    this.#copyCluster(copied)
    writeFileSync(join(copied, 'standby.signal'), '')
    chownSync(join(copied, 'standby.signal'), account.uid, account.gid)
    const primary_conninfo = `host=127.0.0.1 port=${this.port} user=postgres`
    return new FaultServer(dataDir, await freePort(), { ...this.options, primary_conninfo }, this.programs)
  }

  /**
   * Copies the cluster of the stopped server. @returns a function that restores the copy, for which the server must be
   * stopped
   */
  keep(): () => void {
    const { cluster } = findCluster(this.dataDir)
    const kept = `${cluster}.kept`
    this.#copyCluster(kept)
    return () => {
      rmSync(cluster, { recursive: true })
      renameSync(kept, cluster)
    }
  }

  /** Stops the server and removes its data. */
  async remove(): Promise<void> {
    await this.stop('SIGQUIT')
    rmSync(this.dataDir, { recursive: true, force: true })
  }

  #copyCluster(target: string): void {
    const { cluster, account } = findCluster(this.dataDir)
    cpSync(cluster, target, { recursive: true })
    chmodSync(target, 0o700)
    for (const path of [target, ...readdirSync(target, { recursive: true, encoding: 'utf8' })]) {
      lchownSync(resolve(target, path), account.uid, account.gid)
    }
  }

  #untilReady() {
    const answers = () => this.use('postgres', sql => sql`select 1`).catch(() => null)
    return until('the database answers', answers, 60_000)
  }
}

/** Sends a signal to a process and to the processes that it started, which may have ended. */
export function signalAll(main: number | undefined, signal: NodeJS.Signals): void {
  if (main === undefined) return
  const children = readFileSync(`/proc/${main}/task/${main}/children`, 'utf8').split(' ').filter(Boolean)
  for (const pid of [main, ...children.map(Number)]) {
    try {
      process.kill(pid, signal)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
    }
  }
}
