/** Finds the conditions of a search that few rows meet, so that an index is read instead of the list. */
import type { RecordSql } from '../../db/sql.ts'
import { withoutPreparing } from '../../db/statement/statement.ts'
import type { Condition, IndexRange } from './field.ts'
import type { Owners } from './owners.ts'
import type { Ranges } from './ranges.ts'
import type { Search } from './search.ts'

/** The number of latest rows that show how common each text condition is. */
const sampleSize = 100

/**
 * The maximum number of sample rows for which a condition is looked up: PostgreSQL reads all index rows of a condition
 * before it returns the first.
 */
const maxMatches = sampleSize / 20

/**
 * The maximum number of text conditions that are looked up at a single tenant, and at each of several: each condition
 * searches the index.
 */
const maxConditions = { ofOne: 6, ofEach: 2 }

/** The maximum number of tenants at which text conditions are looked up, which takes 0.2 ms for each tenant. */
const maxTenants = 1_000

export interface Reading {
  sql: RecordSql
  /** The first part of the names of the statements: `voucher` for `voucher.search`. */
  name: string
  search: Search
  owners: Owners
  ranges: Ranges
}

/**
 * Counts the rows of index ranges.
 *
 * @param isCounted returns whether the range of a key is counted
 * @param most the number of rows above which a range is not counted further
 * @returns the smallest range; null when all ranges have more rows
 */
export async function narrowestRange(
  { sql, name, search, owners, ranges }: Reading,
  isCounted: (key: string) => boolean,
  most: number,
): Promise<(IndexRange & { size: number }) | null> {
  const all = search.ranges.filter(({ key }) => isCounted(key))
  if (all.length === 0) return null
  const sizes = all.map(({ key, where }) => ranges.size(key, where, most + 1))
  const [found] = await withoutPreparing(
    sql`
    with ${sql.unsafe(`/* ${name}.search_sizes */`)}
    ${owners.relation}
    select ${sizes.reduce((one, other) => sql`${one}, ${other}`)}`.raw(),
  )
  const [smallest] = all
    .map((range, index) => ({ ...range, size: Number(found?.[index]) }))
    .sort((one, other) => one.size - other.size)
  return smallest && smallest.size <= most ? smallest : null
}

/** Returns the condition of the rarest trigrams of the text that is searched; null when none is rare. */
export async function rareText({ sql, name, search, owners, ranges }: Reading): Promise<Condition | null> {
  const { textConditions } = search
  const { relation, count } = owners
  if (textConditions.length === 0 || count > maxTenants) return null
  const met = textConditions.map(condition => sql`count(*) filter (where ${condition(sql)})`)
  const [found] = await withoutPreparing(
    sql`
    with ${sql.unsafe(`/* ${name}.search_sample */`)}
    ${relation}
    select ${met.reduce((one, other) => sql`${one}, ${other}`)}
    from (${ranges.latest(Math.ceil(sampleSize / count), sampleSize)}
    ) latest`.raw(),
  )
  const rare = textConditions
    .map((condition, index) => ({ condition, rows: Number(found?.[index]) }))
    .filter(({ rows }) => rows <= maxMatches)
    .sort((one, other) => one.rows - other.rows)
    .slice(0, count === 1 ? maxConditions.ofOne : maxConditions.ofEach)
  if (rare.length === 0) return null
  return sql => rare.map(({ condition }) => condition(sql)).reduce((one, other) => sql`${one} and ${other}`)
}
