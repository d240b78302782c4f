/** The publication of a platform: the tables whose changes its log has for the subscription. */
import { retryLocks } from '../db/lock-retries.ts'
import { codeOf } from '../db/outage.ts'
import type { Pool } from '../db/sql.ts'
import { type PlatformTable, pathOf } from './platform-tables.ts'

/** The name of the publication, of the subscription, and the beginning of the names of slots. */
export const replicationName = 'voucher_gateway'

/** Returns whether a login lacks a right for what it tried. */
export const isForbidden = (error: unknown): error is Error => codeOf(error) === '42501'

/** The time that a statement waits for a lock at the platform, in milliseconds. */
const lockMs = 100

/**
 * Returns the statements that publish tables whole. A list of columns would refuse the platform's migrations of these.
 *
 * @param sql the platform's database
 */
export async function planPublication(sql: Pool, tables: readonly PlatformTable[]): Promise<string[]> {
  const [found] = await sql<{ tables: string[] }[]>`
    select /* platform.read_publication */ array_to_json(array(
      select format('"%s"."%s"', replace(nspname, '"', '""'), replace(relname, '"', '""'))
      from pg_publication_rel join pg_class on pg_class.oid = prrelid join pg_namespace on pg_namespace.oid = relnamespace
      where prpubid = pg_publication.oid)) as tables
    from pg_publication where pubname = ${replicationName}`
  const missing = tables
    .map(pathOf)
    .filter(path => !found?.tables.includes(path))
    .map(path => `only ${path}`)
  if (!found && missing.length > 0) {
    return [
      `create publication ${replicationName} for table ${missing.join(', ')} with (publish_via_partition_root = true);`,
    ]
  }
  return missing.length === 0 ? [] : [`alter publication ${replicationName} add table ${missing.join(', ')};`]
}

/**
 * Publishes tables that are not, one at a time: no lock is held while another one is waited for.
 *
 * @throws an Error with the statements when the login does not own the tables; one that names who holds a lock
 */
export async function publish(
  platform: Pool,
  tables: readonly PlatformTable[],
  options: { lockWait: number; onBlocked?: ((holders: string) => void) | undefined },
): Promise<void> {
  if ((await planPublication(platform, tables)).length === 0) return
  const session = platform.openSession()
  try {
    const [own] = await session<{ pid: number }[]>`
      select /* platform.prepare_publication */ pg_backend_pid() as pid, set_config('lock_timeout', ${String(lockMs)}, false)`
    const attempt = retryLocks(platform, own?.pid ?? 0, {
      ...options,
      subject: 'The publication',
      remedy: 'End that transaction, and run the command again.',
    })
    for (const table of tables) {
      for (const statement of await planPublication(platform, [table])) await attempt(() => session.unsafe(statement))
    }
  } catch (error) {
    if (!isForbidden(error)) throw error
    const statements = await planPublication(platform, tables)
    const remedy = `Let the owner of the tables run at the platform: ${statements.join(' ')}`
    throw new Error(`The login may not publish the tables of the platform (${error.message}). ${remedy}`)
  } finally {
    await session.end({ timeout: 1 })
  }
}
