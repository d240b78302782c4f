/**
 * Finds out whether a client's copy can still be brought up to date. Otherwise the client needs a full pass: it has to
 * read all lists again (`sql/functions/sync-state`).
 */
import type { Sql } from '../../db/sql.ts'
import { badInput } from '../errors.ts'
import type { Instant } from '../value/instant.ts'

/** The state from which a client sees whether its copy can be brought up to date. */
export interface SyncState {
  /** Increases each time that all clients need a full pass. */
  epoch: number
  /** The instant from which on the removals are complete; null when no removal was ever purged. */
  removalsCompleteSince: Instant | null
}

/** Reads the state. Call this function after the statement of the page (see `requireCompleteRemovals`). */
export async function readSyncState(sql: Sql): Promise<SyncState> {
  const [state] = await sql<SyncState[]>`
    select /* sync_state.read */ epoch,
           nullif(removals_complete_since, '-infinity') as "removalsCompleteSince"
    from gateway.sync_state`
  if (!state) throw new Error('The row of gateway.sync_state is missing.')
  return state
}

/**
 * Throws when a client resumes from an instant at which the removals are not complete.
 *
 * @param since the instant from which the client resumes
 * @param argument the name of the argument with the instant
 * @param state the state, read after the page's statement. With a purge between the two reads, the full pass may be
 * needless. But a state from before the page would not show a purge that deleted removals of the page.
 * @throws `BAD_USER_INPUT` with an error of the argument
 */
export function requireCompleteRemovals(
  since: Instant,
  { removalsCompleteSince }: SyncState,
  argument = 'updatedSince',
): void {
  if (removalsCompleteSince === null || since >= removalsCompleteSince) return
  throw badInput({
    [argument]: [
      `Removals before ${removalsCompleteSince} are incomplete, so a full pass is needed: ` +
        'read all lists again without updatedSince, and drop the records that they no longer hold.',
    ],
  })
}

/**
 * Compares the database server with the recorded server. When the server was replaced, requires a full pass of all
 * copies, like the check of each new connection (`src/db/connection/session.ts`). Only one instance reports the change.
 *
 * @returns the identity of the former server when there is a change that no instance has reported; otherwise null
 */
export async function reportServerChange(sql: Sql): Promise<string | null> {
  const [row] = await sql<[{ former: string | null }]>`
    select /* full_pass.report_server_change */ gateway.report_server_change() as former`
  return row.former
}
