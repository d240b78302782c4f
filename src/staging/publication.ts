/** Plans and changes the publication of a platform: the list of the tables whose changes the subscription receives. */

import { retryLocks } from '../db/connection/lock-retries.ts'
import { codeOf } from '../db/connection/outage.ts'
import { inSession, type Pool, type Sql } from '../db/sql.ts'
import { type Reason, ReasonError, reason } from '../reasons.ts'
import { type PlatformTable, pathOf, readPlatformTables } from './platform-tables.ts'

/**
 * Returns the name of the publication, which is also the prefix of the names of slots. The name identifies the
 * gateway's database, because several gateways may replicate from one platform.
 */
export async function readReplicationName(owner: Sql): Promise<string> {
  const [own] = await owner<[{ name: string }]>`
    select /* staging.read_name */ 'voucher_gateway_' || left(md5(system_identifier || '/' || oid), 8) as name
    from pg_control_system(), pg_database where datname = current_database()`
  return own.name
}

/** Returns true for an error because the login does not have a right (SQLSTATE 42501). */
export const isForbidden = (error: unknown): error is Error => codeOf(error) === '42501'

/** The maximum wait of a statement for a lock at the platform, in milliseconds. */
const lockMs = 100

/**
 * Returns the paths of the published tables, and whether the publication is `for all tables`; undefined without a
 * publication.
 */
async function readPublication(sql: Sql, name: string): Promise<{ isOfAll: boolean; tables: string[] } | undefined> {
  const [found] = await sql<{ isOfAll: boolean; tables: string[] }[]>`
    select /* platform.read_publication */ puballtables as "isOfAll", array_to_json(array(
      select format('"%s"."%s"', replace(schemaname, '"', '""'), replace(tablename, '"', '""'))
      from pg_publication_tables published where published.pubname = publication.pubname order by 1)) as tables
    from pg_publication publication where pubname = ${name}`
  return found
}

const tableList = (paths: readonly string[]) => `table ${paths.map(path => `only ${path}`).join(', ')}`
const viaRootOption = 'publish_via_partition_root = true'
const createStatement = (name: string, paths: readonly string[]) =>
  `create publication ${name} for ${tableList(paths)} with (${viaRootOption});`

/**
 * Returns the statements that publish tables with all columns. With a list of columns, PostgreSQL would reject some
 * migrations of the platform.
 *
 * @param sql the platform's database
 * @param name the name of the publication
 */
export async function planPublication(sql: Sql, name: string, tables: readonly PlatformTable[]): Promise<string[]> {
  const found = await readPublication(sql, name)
  const missing = tables.map(pathOf).filter(path => !found?.tables.includes(path))
  if (missing.length === 0) return []
  return [found ? `alter publication ${name} add ${tableList(missing)};` : createStatement(name, missing)]
}

/** Tables that are published but not staged. */
interface SurplusTables {
  /** The reason for an administrator, with the statements to run at the platform. */
  reason: Reason
  /** The tables whose changes can be ignored: each gets an empty staged table that the subscription does not write. */
  tables: PlatformTable[]
  /**
   * True when there are further tables, into which a subscription would write rows of the platform, for example
   * `gateway.token`.
   */
  isForbidden: boolean
}

/**
 * Finds tables that are published but not staged.
 *
 * @param sql the platform's database
 * @param name the name of the publication
 * @param tables all staged tables
 * @returns undefined when there are no such tables
 */
export async function findSurplusTables(
  sql: Sql,
  name: string,
  tables: readonly PlatformTable[],
): Promise<SurplusTables | undefined> {
  const found = await readPublication(sql, name)
  const staged = tables.map(pathOf)
  const surplus = found?.tables.filter(path => !staged.includes(path)) ?? []
  if (surplus.length === 0) return undefined
  const change = `alter publication ${name} set`
  const statements = found?.isOfAll
    ? `drop publication ${name}; ${createStatement(name, staged)}`
    : `${change} (${viaRootOption}); ${change} ${tableList(staged)};`
  const ignored = (await readPlatformTables(sql)).filter(table => surplus.includes(pathOf(table)))
  const hasGateway = surplus.some(path => path.startsWith('"gateway".'))
  return {
    reason: reason(hasGateway ? 'PUBLICATION_FORBIDDEN' : 'PUBLICATION_TOO_WIDE', {
      tables: surplus.join(', '),
      statements,
    }),
    tables: ignored,
    isForbidden: ignored.length < surplus.length,
  }
}

/**
 * Publishes the unpublished tables one by one, so that no lock is held during the wait for another lock.
 *
 * @param name the name of the publication
 * @param tables all tables that are staged
 * @returns the tables that are published but not staged, whose changes have to be ignored
 * @throws a ReasonError when forbidden tables are published; an Error that names the holders of a lock
 */
export async function publish(
  platform: Pool,
  name: string,
  tables: readonly PlatformTable[],
  options: { lockWait: number; onBlocked?: ((holders: string) => void) | undefined },
): Promise<readonly PlatformTable[]> {
  const surplus = await findSurplusTables(platform, name, tables)
  if (surplus?.isForbidden) throw new ReasonError(surplus.reason)
  if ((await planPublication(platform, name, tables)).length === 0) return surplus?.tables ?? []
  return inSession(platform, async session => {
    const [own] = await session<[{ pid: number }]>`
      select /* platform.prepare_publication */ pg_backend_pid() as pid, set_config('lock_timeout', ${String(lockMs)}, false)`
    const attempt = retryLocks(platform, own.pid, {
      ...options,
      subject: 'The publication',
      remedy: 'End that transaction, and run the command again.',
    })
    for (const table of tables) {
      for (const statement of await planPublication(platform, name, [table]))
        await attempt(() => session.unsafe(statement))
    }
    return surplus?.tables ?? []
  })
}
