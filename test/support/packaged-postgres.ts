/**
 * The PostgreSQL server from the packages of the system, with the defaults of Debian. Unlike the embedded server, it
 * has JIT.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { EmbeddedPostgres } from '../../packages/embedded/src/embedded.ts'
import { createServerDirectory } from './directory.ts'

const versions = '/usr/lib/postgresql'

const installed = (existsSync(versions) ? readdirSync(versions) : [])
  .sort((a, b) => Number(b) - Number(a))
  .map(version => join(versions, version, 'bin'))
  .find(programs => existsSync(join(programs, 'initdb')))

/** True when a package is installed, which the main tests and the benchmarks do not need. */
export const isPackagedInstalled = installed !== undefined

/** Returns the directory of the programs of the newest installed version. @throws Error when no version is installed */
export function packagedPrograms(): string {
  if (installed === undefined) throw new Error('PostgreSQL is not installed. On Debian: apt-get install postgresql')
  return installed
}

/**
 * Starts a server in a new directory, which `stop` removes. It listens only on a Unix socket.
 *
 * @param settings the settings that differ from the defaults of PostgreSQL
 * @param backup a directory of `pg_basebackup` to recover as `settings` say; by default a new cluster
 * @throws Error when no package is installed, or the server does not start
 */
export async function startPackaged(settings: Record<string, string> = {}, backup?: string): Promise<EmbeddedPostgres> {
  const { path: home, account } = createServerDirectory()
  const execute = (file: string, ...args: string[]) =>
    execFileSync(file, args, { ...account, cwd: '/', stdio: 'ignore' })
  const run = (program: string, ...args: string[]) => execute(join(packagedPrograms(), program), ...args)
  const [port, user, data] = [5432, 'postgres', join(home, 'data')]
  const all = { listen_addresses: '', unix_socket_directories: home, ...settings }
  const flags = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`)
  if (backup === undefined) {
    run('initdb', '-D', data, '-U', user, '--auth=trust', '--encoding=UTF8', '--locale=C.UTF-8', '--no-sync')
  } else {
    execute('cp', '-a', backup, data)
    execute('touch', join(data, 'recovery.signal'))
  }
  run('pg_ctl', 'start', '-w', '-D', data, '-l', join(home, 'log'), '-o', flags.join(' '))
  return {
    ...{ host: home, port, user, database: user },
    async stop() {
      run('pg_ctl', 'stop', '-w', '-m', 'immediate', '-D', data)
      rmSync(home, { recursive: true, force: true })
    },
  }
}
