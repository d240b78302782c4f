/**
 * Which server holds a cluster: PostgreSQL's pid file, checked against the process it names. Process ids are reused,
 * copies of a cluster carry its pid file, and a server that was killed leaves its own behind.
 */
import { execFileSync } from 'node:child_process'
import * as fs from 'node:fs'
import { join } from 'node:path'
import { type Account, SOCKET_DIR } from './embedded-paths.ts'

/** What a server says of itself in the pid file (`postmaster.pid`) of its cluster. */
export interface PidFile {
  pid: number
  /** The cluster's path, as the server was given it. */
  cluster: string
  port: number
  socketDir: string
  /** Accepting connections, and not shutting down. */
  ready: boolean
}

/**
 * Reads the pid file of a cluster, which is no proof of a live server.
 *
 * @returns null when there is none
 * @throws Error when it cannot be read, for then a server may well be there
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

/** Finds the server that really runs on a cluster, be it starting, ready or stopping. */
export function liveServer(cluster: string): PidFile | null {
  const found = readPidFile(cluster)
  return found && found.cluster === cluster && isAlive(found.pid) && isServer(found.pid, cluster) ? found : null
}

/**
 * Removes what a server that was killed left behind. To be called only when the cluster has no live server.
 *
 * @param account the server's; nothing of anyone else's is removed
 */
export function clearRemains(cluster: string, account: Account): void {
  const remains = readPidFile(cluster)
  if (!remains) return
  // PostgreSQL copes with a dead process id, but not with one that by now is some other process of the same user.
  if (isAlive(remains.pid)) fs.rmSync(join(cluster, 'postmaster.pid'))
  // In a copy of a cluster the file names the socket directory of the original's server, which may be in use.
  if (remains.cluster !== cluster) return
  const { socketDir } = remains
  if (!socketDir.startsWith(SOCKET_DIR) || !/^\w+$/.test(socketDir.slice(SOCKET_DIR.length))) return
  if (fs.lstatSync(socketDir, { throwIfNoEntry: false })?.uid !== account.uid) return
  fs.rmSync(socketDir, { recursive: true, force: true })
}

/** Whether there is a process of that id, whoever's. */
export function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === 'EPERM'
  }
}

/** Whether the process is the server of that cluster; on macOS, any PostgreSQL server counts as that, to be safe. */
function isServer(pid: number, cluster: string): boolean {
  try {
    if (process.platform === 'linux')
      return fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(cluster)
    return execFileSync('/bin/ps', ['-o', 'comm=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
      .endsWith('postgres')
  } catch {
    // It ended meanwhile.
    return false
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}
