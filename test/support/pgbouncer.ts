/** A real PgBouncer with the configuration of docs/scaling.md, which `.ci/newest` installs. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createServerDirectory } from './directory.ts'
import { untilListening } from './free-port.ts'

/** The settings to replace or to add, by name; null removes a setting. `connect_query` is the database's. */
export type SettingOverrides = Record<string, string | null>

/** The options of a PgBouncer and of the server behind it. */
interface PgBouncerOptions {
  server: { host: string; port: number }
  port: number
  /** The login of the connections to the server. The login exists, and needs no password at the server. */
  login: string
  /** Further logins that may connect with the same password. */
  otherLogins?: string[]
  changes?: SettingOverrides
}

/** The password of all logins at PgBouncer. */
export const password = 'secret'
const program = process.env.PGBOUNCER_PATH ?? 'pgbouncer'

/** Returns true when the version of PgBouncer in the tests is not older than this version. */
export function pgBouncerIsAtLeast(major: number, minor: number): boolean {
  try {
    const printed = execFileSync(program, ['--version'], { encoding: 'utf8' })
    const [, ownMajor, ownMinor] = /^PgBouncer (\d+)\.(\d+)/.exec(printed)?.map(Number) ?? []
    return ownMajor === major ? Number(ownMinor) >= minor : Number(ownMajor) > major
  } catch (error) {
    throw new Error('PgBouncer cannot be run: install it with .ci/newest, or set PGBOUNCER_PATH to the program.', {
      cause: error,
    })
  }
}

/**
 * Creates a PgBouncer that does not run yet. It listens on the same port of 127.0.0.1 after each start, and gives
 * access to every database of the server.
 */
export function createPgBouncer({ server, port, login, otherLogins = [], changes = {} }: PgBouncerOptions) {
  if (!pgBouncerIsAtLeast(1, 21)) throw new Error('The service needs PgBouncer 1.21 or later.')
  const { path: directory, account } = createServerDirectory()
  const file = (name: string) => join(directory, name)
  let child: ChildProcess | null = null
  const users = [login, ...otherLogins].map(name => `"${name}" "${password}"\n`)
  writeFileSync(file('userlist.txt'), users.join(''), { mode: 0o644 })
  writeFileSync(file('log'), '')
  chmodSync(file('log'), 0o666)
  const own: SettingOverrides = {
    ...{ listen_addr: '127.0.0.1', listen_port: String(port) },
    ...{ auth_file: file('userlist.txt'), logfile: file('log') },
  }

  /** Kills PgBouncer, which closes the connections of its clients. */
  async function kill(): Promise<void> {
    if (child === null) return
    const closed = once(child, 'close')
    child.kill('SIGKILL')
    await closed
    child = null
  }

  return {
    port,
    login,
    /** Returns the address of a database behind PgBouncer, in the form of DATABASE_URL. */
    url: (database: string) => `postgres://${login}:${password}@127.0.0.1:${port}/${database}`,
    /**
     * Starts it again. Resolves when it listens. @param more overrides of the configuration, as in `PgBouncerOptions`
     */
    async start(more: SettingOverrides = {}) {
      await kill()
      writeFileSync(file('pgbouncer.ini'), configure(server, { ...own, ...changes, ...more }))
      child = spawn(program, ['-q', file('pgbouncer.ini')], { ...account, cwd: '/', stdio: 'ignore' })
      await untilListening('PgBouncer', port, child)
    },
    kill,
    /** Suspends PgBouncer. Its connections stay open. */
    freeze: () => child?.kill('SIGSTOP'),
    thaw: () => child?.kill('SIGCONT'),
    async remove() {
      await kill()
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

/** Returns the documented configuration, with the addresses, paths and overrides of a test. */
function configure(
  { host, port }: PgBouncerOptions['server'],
  { connect_query: query, ...changes }: SettingOverrides,
): string {
  const documented = readFileSync(join(import.meta.dirname, '../../deploy/pgbouncer.ini'), 'utf8')
  // Each database of the tests has the same name at PgBouncer.
  const entry = /^gateway = host=\S+ port=\S+ dbname=gateway (connect_query=.*)$/m
  if (!entry.test(documented)) throw new Error('deploy/pgbouncer.ini has no database in the form that this expects.')
  const named = documented.replace(entry, (_, connectQuery) => {
    const given = query === undefined ? connectQuery : query === null ? '' : `connect_query='${query}'`
    return `* = host=${host} port=${port} ${given}`
  })
  return Object.entries(changes).reduce((text, [name, value]) => {
    const line = new RegExp(`^${name} *=.*\n`, 'm')
    const rest = text.replace(line, '')
    return value === null ? rest : `${rest}${name} = ${value}\n`
  }, named)
}
