import type { Sql } from '../db/connect.ts'

/** Returns the secret of this name that all instances share: the stored one, or the proposal, which is then stored. */
export async function getOrCreateSecret(sql: Sql, name: string, proposal: Buffer): Promise<Buffer> {
  const [stored] = await sql<{ value: Buffer }[]>`
    insert /* setting.get_or_create */ into gateway.setting (name, value) values (${name}, ${proposal})
    on conflict (name) do update set value = setting.value
    returning value`
  return stored?.value ?? proposal
}
