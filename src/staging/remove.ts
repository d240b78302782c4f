/** Removes what replicates a platform on another server. */

import { connect } from '../db/connect.ts'
import type { Pool } from '../db/sql.ts'
import { replicationName } from './publication.ts'
import { dropSlots, dropSubscription, stopSubscription } from './subscription.ts'

/**
 * Drops the subscription and the staged tables, and the slot and the publication at the platform.
 *
 * @param owner connections of the owner of the staged tables
 * @throws an Error when there is a subscription, and no URL: its slot would keep the log of the platform for ever
 */
export async function removeStaging(owner: Pool, platformUrl: string | undefined): Promise<void> {
  const [state] = await owner<{ slots: string[]; tables: string[] }[]>`
    select /* staging.read_all */ array_to_json(array_remove(array[slot, next_slot], null)) as slots,
           array_to_json(array(select source from gateway.staged_table)) as tables
    from gateway.subscription`
  if (!state) return
  if (platformUrl === undefined)
    throw new Error('Name the database of the platform with --from: it has a slot, which keeps its log.')
  const session = owner.openSession()
  try {
    await stopSubscription(session)
    await dropSubscription(session)
    for (const table of state.tables)
      await session.unsafe(`drop /* staging.drop_table */ table if exists ${table} cascade`)
  } finally {
    await session.end({ timeout: 1 })
  }
  const platform = connect(platformUrl, { max: 1, statementTimeoutMs: 10_000 })
  try {
    await dropSlots(platform, state.slots)
    await platform.unsafe(`drop /* platform.unpublish */ publication if exists ${replicationName}`)
  } finally {
    await platform.end({ timeout: 1 })
  }
}
