import type { Sql } from '../../db/sql.ts'

/** Returns the secret of this name, which all instances share. If none is stored, stores the proposal. */
export async function getOrCreateSecret(sql: Sql, name: string, proposal: Buffer): Promise<Buffer> {
  // These are two statements, because only a second statement sees a row that another instance has inserted at the same
  // time.
  await sql`
    insert /* setting.create */ into gateway.setting (name, value) values (${name}, ${proposal})
    on conflict (name) do nothing`
  const [stored] = await sql<{ value: Buffer }[]>`
    select /* setting.get */ value from gateway.setting where name = ${name}`
  if (!stored) throw new Error(`The database has not kept the secret ${name}.`)
  return stored.value
}
