/** Finds conditions of a search that few rows meet, so that the search reads an index and not the list. */
import type { RecordSql } from '../../db/sql.ts'
import { withoutPreparing } from '../../db/statement/statement.ts'
import type { Condition, IndexRange } from './field.ts'
import type { Owners } from './owners.ts'
import type { Ranges } from './ranges.ts'
import type { Search } from './search.ts'

/** The number of rows of the sample: the latest rows, which show how common each text condition is. */
const sampleSize = 100

/**
 * The maximum number of sample rows that meet a rare condition. A common condition is not looked up in the index,
 * because PostgreSQL reads all its index rows before it returns the first row.
 */
const maxMatches = sampleSize / 20

/**
 * The maximum number of text conditions that are looked up: `ofOne` for a single tenant, `ofEach` for each of several
 * tenants. There is a maximum because each condition costs a search of the index.
 */
const maxConditions = { ofOne: 6, ofEach: 2 }

/** The maximum number of tenants at which text conditions are looked up. A lookup takes 0.2 ms per tenant. */
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
 * Counts the rows of index ranges, and returns the smallest range.
 *
 * @param isCounted returns whether the range of a key is counted
 * @param most the number of rows at which the count of a range stops
 * @returns the smallest range; null when all ranges have more than `most` rows
 */
export async function findNarrowestRange(
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

/** Returns the condition of the rarest trigrams of the searched text; null when no trigram is rare. */
export async function findRareText({ sql, name, search, owners, ranges }: Reading): Promise<Condition | null> {
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
