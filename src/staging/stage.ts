/** Stages the tables of a platform on another server that a mapping reads. */
import { type CheckedMapping, checkMapping } from '../adoption/check.ts'
import { requireVersion } from '../db/connection/server-version.ts'
import { arrayText, type Pool } from '../db/sql.ts'
import { type CopyOptions, copyPlatform } from './copy.ts'
import { findObstacles } from './obstacles.ts'
import { type PlatformTable, pathOf, quoteIdentifier, readPlatformTables } from './platform-tables.ts'
import { planPublication, readReplicationName } from './publication.ts'
import { requirePlatform, withPlatform } from './server.ts'

/** The tables of the platform that a mapping reads, and the findings about the mapping. */
interface PlatformCheck extends CheckedMapping {
  tables: PlatformTable[]
}

/**
 * Checks a mapping of a platform on another server. Creates missing staged tables without rows, and rolls this back.
 *
 * @param owner connections of the owner of the gateway's database
 * @param platformUrl the platform's database, with the login that will replicate
 * @param path the schemas of unqualified names in the mapping
 * @returns `grants`: the statements to run at the platform, which grant rights and create the publication
 */
export async function checkPlatform(
  owner: Pool,
  platformUrl: string,
  folder: string,
  path?: string,
): Promise<PlatformCheck> {
  return withPlatform(platformUrl, { statementTimeoutMs: 0 }, async platform => {
    await requirePlatform(platform)
    const [login] = await platform<[{ name: string; version: number }]>`
      select /* platform.read_login */ quote_ident(current_user) as name, current_setting('server_version_num')::int as version`
    requireVersion('PLATFORM_URL', login.version)
    const all = await readPlatformTables(platform)
    const { findings, columns: named } = await checkMapping(owner, folder, path, all)
    for (const finding of findings) {
      const missing = /^column (?:.*\.)?"?([^".]+)"? does not exist$/.exec(finding.problem)?.[1] ?? ''
      const found = all.find(({ generated }) => generated[missing])
      if (!found) continue
      finding.problem += `: it is generated in ${pathOf(found)}, and not replicated`
      finding.remedy = `Write its expression: ${found.generated[missing]}`
    }
    const columns = new Map(
      [...named].map(([table, names]) => [quotedPath(table), new Set([...names].map(quotedPath))]),
    )
    const read = all.filter(table => columns.has(pathOf(table)))
    const tables = read.filter(({ is_table }) => is_table)
    for (const { schema, name, key, problem } of read) {
      const place = { file: `${schema}.${name}`, line: null, keys: [] }
      if (problem) findings.push({ ...place, level: 'error', problem: `It ${problem[0]}`, remedy: problem[1] })
      else if (key.length === 0) findings.push({ ...place, level: 'warning', ...withoutKey })
    }
    const name = await readReplicationName(owner)
    findings.push(...(await findObstacles({ owner, platform, platformUrl, name, tables })))
    const schemas = new Set(tables.map(({ schema }) => quoteIdentifier(schema)))
    const grants = [
      ...[...schemas].map(schema => `grant usage on schema ${schema} to ${login.name};`),
      ...(tables.length > 0 ? [`grant select on ${tables.map(pathOf).join(', ')} to ${login.name};`] : []),
      ...(await planPublication(platform, name, tables)),
    ]
    return { findings, columns, tables, grants }
  })
}

const withoutKey = {
  problem: 'It has replica identity full and no primary key: each update or deletion of a row searches its whole copy',
  remedy: 'Give it a primary key if it is large, and its rows change often',
}

/** Quotes all parts of an SQL name, because PostgreSQL returns names without the quotes that it does not need. */
const quotedPath = (name: string) =>
  (name.match(/"(?:[^"]|"")+"|[^."]+/g) ?? [])
    .map(part => (part.startsWith('"') ? part : quoteIdentifier(part)))
    .join('.')

/**
 * Publishes the tables that a mapping reads. Copies them unless the gateway's database already has all of them.
 *
 * @param owner connections of the owner of the gateway's database, in which all migrations must have run
 * @returns the findings about the mapping; when one of them is an error, nothing is published or copied
 * @throws the errors of `copyPlatform`
 */
export async function stagePlatform(
  owner: Pool,
  folder: string,
  { path, ...options }: Omit<CopyOptions, 'tables'> & { path?: string },
): Promise<PlatformCheck['findings']> {
  const { findings, columns, tables } = await checkPlatform(owner, options.platformUrl, folder, path)
  if (findings.some(({ level }) => level === 'error')) return findings
  const [state] = await owner<{ is_complete: boolean; staged: number[] }[]>`
    select /* staging.read_state */ exists (select from gateway.subscription where needs_copy is null) as is_complete,
           array_to_json(array(select platform_oid::bigint from gateway.staged_table where not is_ignored)) as staged`
  if (!state?.is_complete || tables.some(({ platform_oid }) => !state.staged.includes(platform_oid))) {
    if (!(await copyPlatform(owner, { ...options, tables })))
      throw new Error('Another process copies the tables of the platform. Wait for its end, and run the command again.')
  }
  // The staged tables need the indexes of the platform, because rules and selects use them.
  for (const table of tables) {
    const read = columns.get(pathOf(table))
    for (const index of table.indexes.filter(([first = '']) => read?.has(quoteIdentifier(first)))) {
      await owner`select /* staging.index_table */ gateway.index_table(${pathOf(table)}::text::regclass, ${arrayText(index)}::text::text[])`
    }
  }
  return findings
}
