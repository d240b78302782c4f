/**
 * Finds the server that runs on a cluster: reads PostgreSQL's pid file, and checks the process that the file names. The
 * check is necessary because process ids are reused, a copy of a cluster contains the pid file of the original, and a
 * killed server leaves its pid file behind.
 */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { type Account, SOCKET_DIR_PREFIX } from './paths.ts'

/** The pid file (`postmaster.pid`) that a server writes into its cluster. */
interface PidFile {
  pid: number
  /** The cluster's path, as passed to the server. */
  cluster: string
  port: number
  socketDir: string
  /** True when the server accepts connections and is not shutting down. */
  ready: boolean
}

/**
 * Reads the pid file of a cluster. The server that the file names may have ended.
 *
 * @returns null when there is no pid file
 * @throws Error when the file cannot be read, because a server may then be running
 */
export function readPidFile(cluster: string): PidFile | null {
  try {
    const lines = fs.readFileSync(join(cluster, 'postmaster.pid'), 'utf8').split('\n')
    const [pid, dataDir = '', , port, socketDir = '', , , status = ''] = lines
    return { pid: Number(pid), cluster: dataDir, port: Number(port), socketDir, ready: status.trim() === 'ready' }
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** Finds the server that runs on a cluster, whether it is starting, ready or stopping. */
export function findRunningServer(cluster: string): PidFile | null {
  const found = readPidFile(cluster)
  return found && found.cluster === cluster && isAlive(found.pid) && isServer(found.pid, cluster) ? found : null
}

/**
 * Removes the files that a killed server left behind. Call it only when no server runs on the cluster.
 *
 * @param account the server's account; files of other accounts stay
 */
export function removeStaleFiles(cluster: string, account: Account): void {
  const stale = readPidFile(cluster)
  if (!stale) return
  // PostgreSQL ignores a pid file with the id of an ended process, but not one whose id another process of the same
  // user has now.
  if (isAlive(stale.pid)) fs.rmSync(join(cluster, 'postmaster.pid'))
  // In a copy of a cluster, the pid file names the socket directory of the original server, which may be in use.
  if (stale.cluster !== cluster) return
  const { socketDir } = stale
  if (!socketDir.startsWith(SOCKET_DIR_PREFIX) || !/^\w+$/.test(socketDir.slice(SOCKET_DIR_PREFIX.length))) return
  if (fs.lstatSync(socketDir, { throwIfNoEntry: false })?.uid !== account.uid) return
  fs.rmSync(socketDir, { recursive: true, force: true })
}

/** Returns whether a process with this id exists, even one of another account. */
export function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** Returns whether the process is the server of the cluster. On macOS, also true for any other PostgreSQL server. */
function isServer(pid: number, cluster: string): boolean {
  try {
    if (process.platform === 'linux')
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(cluster)
    return execFileSync('/bin/ps', ['-o', 'comm=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .endsWith('postgres')
  } catch {
    // The process has ended.
    return false
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
