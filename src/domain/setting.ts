import type { Sql } from '../db/connect.ts'

/**
 * A secret that all instances agree on: the one that is kept, or else this proposal, which is kept from now on.
 *
 * @param name what the secret is for
 * @param proposal the secret to keep when there is none
 */
export async function getOrCreateSecret(sql: Sql, name: string, proposal: Buffer): Promise<Buffer> {
  const [kept] = await sql<{ value: Buffer }[]>`
    insert /* setting.get_or_create */ into gateway.setting (name, value) values (${name}, ${proposal})
    on conflict (name) do update set value = setting.value
    returning value`
  return kept?.value ?? proposal
}
