/**
 * Rejects copies that cannot be brought up to date: their clients have to read all lists again
 * (`sql/functions/sync-state`).
 */
import type { Sql } from '../../db/sql.ts'
import { badInput } from '../errors.ts'
import type { Instant } from '../value/instant.ts'

/** Shows a client whether its copy can be brought up to date. */
export interface SyncState {
  /** Grows each time that all copies have to be rebuilt. */
  epoch: number
  /** From this instant on, the removals are complete; null when no removal was ever purged. */
  removalsCompleteSince: Instant | null
}

/** Reads the state. Call it after the statement of the page: see `requireCompleteRemovals`. */
export async function readSyncState(sql: Sql): Promise<SyncState> {
  const [state] = await sql<SyncState[]>`
    select /* sync_state.read */ epoch,
           nullif(removals_complete_since, '-infinity') as "removalsCompleteSince"
    from gateway.sync_state`
  if (!state) throw new Error('The row of gateway.sync_state is missing.')
  return state
}

/**
 * Rejects an answer to a client that resumes from before the removals are complete.
 *
 * @param since the instant from which the client resumes
 * @param argument the argument that has the instant
 * @param state read after the page's statement. A purge between the two reads may cause a needless full pass, but a
 *   state from before the page would not show a purge that deleted removals of the page.
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
 * Compares the database server with the recorded one, and requires a full pass when it was replaced, like the check of
 * each new connection (`src/db/connection/session.ts`). Only one instance reports it.
 *
 * @returns the identity of the former server when a change was not reported yet; otherwise null
 */
export async function reportServerChange(sql: Sql): Promise<string | null> {
  const [row] = await sql<[{ former: string | null }]>`
    select /* full_pass.report_server_change */ gateway.report_server_change() as former`
  return row.former
}
