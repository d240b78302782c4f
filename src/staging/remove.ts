import { inSession, type Pool } from '../db/sql.ts'
import { isForbidden, readReplicationName } from './publication.ts'
import { withPlatform } from './server.ts'
import { dropSlots, dropSubscription, stopSubscription } from './subscription.ts'

/**
 * Drops the subscription and the staged tables, and the slot and the publication at the platform.
 *
 * @param owner connections of the owner of the staged tables
 * @returns the statement that the owner of the publication still has to run at the platform; null when everything is
 * dropped
 * @throws an Error when there is a subscription but no URL, because then its slot would keep the WAL of the platform
 * for ever
 */
export async function removeStaging(owner: Pool, platformUrl: string | undefined): Promise<string | null> {
  const [state] = await owner<{ slots: string[]; tables: string[] }[]>`
    select /* staging.read_all */ array_to_json(array_remove(array[slot, other_slot], null)) as slots,
           array_to_json(array(select source from gateway.staged_table)) as tables
    from gateway.subscription`
  if (!state) return null
  if (platformUrl === undefined)
    throw new Error('Name the database of the platform with --from: it has a slot, which keeps its log.')
  const name = await readReplicationName(owner)
  await inSession(owner, async session => {
    await stopSubscription(session)
    await dropSubscription(session)
    for (const table of state.tables)
      await session.unsafe(`drop /* staging.drop_table */ table if exists ${table} cascade`)
  })
  return withPlatform(platformUrl, { statementTimeoutMs: 10_000 }, async platform => {
    // Also finds the slot of a copy that was killed while the platform created the slot.
    const others = await platform<{ slot: string }[]>`
      select /* staging.find_other_slots */ slot_name as slot from pg_replication_slots
      where starts_with(slot_name::text, ${`${name}_`}::text) and not active`
    await dropSlots(platform, [...state.slots, ...others.map(({ slot }) => slot)])
    const statement = `drop publication if exists ${name}`
    try {
      await platform.unsafe(statement)
      return null
    } catch (error) {
      if (isForbidden(error)) return `${statement};`
      throw error
    }
  })
}
