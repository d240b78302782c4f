/** The quick checks, which both `doctor` and `/readyz` run. */
import { countPendingMigrations, UnreleasedDatabaseError } from '../db/migration/migrations.ts'
import type { Pool, Sql } from '../db/sql.ts'
import { findUncaptured } from '../projection/capture.ts'
import { type Reason, reason } from '../reasons.ts'
import { findMissingGrants } from './grants.ts'

/** The maximum difference between the clocks that is not reported, in milliseconds. */
const maxClockDifferenceMs = 5_000

/** Returns the reason why the database cannot be written. */
export async function findUnwritable(sql: Pool): Promise<Reason[]> {
  // The defaults of the database and of the role are read, because a default applies only to new sessions, and this
  // session may be older.
  const [state] = await sql<[{ standby: boolean; readOnly: boolean }]>`
    select /* health.read_state */ pg_is_in_recovery() as standby,
           current_setting('transaction_read_only') = 'on' or exists (
             select from pg_db_role_setting, unnest(setconfig) as setting
             where setdatabase in (0, (select oid from pg_database where datname = current_database()))
               and setrole in (0, session_user::regrole, current_user::regrole)
               and setting ~ '^default_transaction_read_only=(on|true|yes|1)$') as "readOnly"`
  if (state.standby) return [reason('DATABASE_STANDBY')]
  return state.readOnly ? [reason('DATABASE_READ_ONLY')] : []
}

/** Returns the reason why the database is not migrated. */
async function findUnmigrated(sql: Pool): Promise<Reason[]> {
  try {
    const missing = await countPendingMigrations(sql)
    return missing === 0 ? [] : [reason('MIGRATIONS_MISSING', { missing, migrate: commands.migrate })]
  } catch (error) {
    if (error instanceof UnreleasedDatabaseError) return [reason('DATABASE_UNRELEASED', commands)]
    throw error
  }
}

const commands = { migrate: 'voucher-gateway migrate', demo: 'voucher-gateway demo' }

/** Returns the reason why lists are not complete yet; none when the first fill is done. */
async function findUnfilled(sql: Pool): Promise<Reason[]> {
  const [step] = await sql<{ isComplete: boolean }[]>`
    select /* step.read_completeness */ is_complete as "isComplete" from gateway.step order by stamp desc limit 1`
  return step?.isComplete ? [] : [reason('FIRST_FILL')]
}

/** Returns the reason when the clock of this process differs from the clock of the database. */
async function findClockDifference(sql: Sql): Promise<Reason[]> {
  const sent = Date.now()
  const [row] = await sql<[{ read: number }]>`
    select /* health.read_clock */ (1000 * extract(epoch from clock_timestamp()))::float8 as read`
  // The database has read its clock at some moment between these two times.
  const [ahead, behind] = [sent - row.read, row.read - Date.now()]
  const difference = Math.max(ahead, behind)
  if (difference <= maxClockDifferenceMs) return []
  const direction = ahead > behind ? 'ahead of' : 'behind'
  return [reason('CLOCK_DIFFERS', { seconds: Math.round(difference / 1000), direction })]
}

/**
 * The checks that must succeed before the service can answer requests, by name. A check runs only when all earlier
 * checks find no reason.
 */
export const readinessChecks = { database: findUnwritable, migrations: findUnmigrated, fill: findUnfilled }

/** The checks on which updates of records, and some requests, depend. */
export const furtherChecks = { capture: findUncaptured, rights: findMissingGrants, clock: findClockDifference }
