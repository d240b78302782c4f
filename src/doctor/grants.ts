/** The rights that the migrations grant to the service. */
import { serviceRole } from '../db/connection/connect.ts'
import { schemaTexts } from '../db/migration/migrations.ts'
import type { Sql } from '../db/sql.ts'
import { type Reason, reason } from '../reasons.ts'

/** Returns a reason for each right that the service lacks. @param sql a pool of any role */
export async function findMissingGrants(sql: Sql): Promise<Reason[]> {
  expected ??= JSON.stringify(expectedGrants())
  // Ignores tables that do not exist, because the migrations of a newer version may have dropped a table.
  const rows = await sql<{ object: string; statement: string }[]>`
    select /* grants.find_missing */ distinct on (statement) object, statement
    from jsonb_to_recordset(${expected}::text::jsonb)
      as expected (object text, privilege text, columns text[], statement text)
    where case when privilege = 'execute' then has_function_privilege(${serviceRole}, to_regproc(object), privilege) is false
               when to_regclass(object) is null then false
               when columns is null then has_table_privilege(${serviceRole}, object, privilege) is not true
               else (select bool_and(has_column_privilege(${serviceRole}, object, name, privilege)) from unnest(columns) name) is not true
          end`
  return rows.map(facts => reason('GRANT_MISSING', facts))
}

/**
 * The expected rights as JSON. They are read once per process, because the files of a running service do not change.
 */
let expected: string | undefined

/** The end of each statement that grants rights to the service. */
const grantee = ` to ${serviceRole}`

/**
 * Returns the rights that the migrations grant to the service, each with its statement. Each function has its own
 * entry.
 */
function expectedGrants() {
  const statements = schemaTexts()
    .join('\n')
    .replaceAll(/^ *--.*/gm, '')
    .split(';')
    .map(text => text.replaceAll(/\s+/g, ' ').trim())
  return statements.flatMap(statement => {
    const [privileges = '', objects = ''] = statement.replace(/^grant /, '').split(' on ')
    const names = objects.replace(/^function /, '')
    if (!statement.startsWith('grant ') || !names.startsWith('gateway.') || !names.endsWith(grantee)) return []
    return names
      .slice(0, -grantee.length)
      .split(', ')
      .flatMap(object =>
        [...privileges.matchAll(/(\w+)(?: \(([^)]*)\))?/g)].map(([, privilege, columns]) => ({
          ...{ object, privilege, columns: columns?.split(', ') ?? null },
          statement: names === objects ? `${statement};` : `grant execute on function ${object}${grantee};`,
        })),
      )
  })
}
