/** Reads pages and counts of filtered and ordered lists, of one tenant or of several. */
import { z } from 'zod'
import type { Fragment, Sql } from '../../db/connect.ts'
import type { RowCodec } from '../../db/row-codec.ts'
import { unprepared } from '../../db/statement.ts'
import { grantedAtOrBelow } from '../granted-tenants.ts'
import type { Instant } from '../instant.ts'
import { type Page, type PageWindow, toPage } from '../page.ts'
import { matching, Ranges, type SearchedTable } from './ranges.ts'
import type { Search } from './search.ts'

/** A table whose lists can be filtered and ordered. */
interface SearchTableOptions<Row> extends SearchedTable {
  /** The first part of the names of its statements: `voucher` for `voucher.search`. */
  name: string
  row: RowCodec<Row>
}

/** A page with the keys of its rows: the texts of the values that they are ordered by, null for those without one. */
export interface KeyedPage<Row> extends Page<Row> {
  keys: ReadonlyMap<Row, string | null>
}

/** Reads filtered and ordered lists of one table. */
export interface SearchTable<Row> {
  /** Reads a page. @param watermark no row stamped from then on is read */
  page(sql: Sql, search: Search, window: PageWindow, watermark: Instant): Promise<KeyedPage<Row>>
  /** Counts the records of the whole list. */
  count(sql: Sql, search: Search, updatedSince: Instant | null): Promise<number>
}

/** Up to how many rows with a text are read in any order, and sorted, when the list has those of several tenants. */
const mostCandidates = 2_000

const keyTexts = z.array(z.string().nullable())

/** Selects the tenants of the list, each with its day. */
function owners(sql: Sql, { tenantId, descendantsOf }: Search): Fragment {
  const day = sql`(now() at time zone time_zone)::date as today`
  return descendantsOf === null
    ? sql`owner as materialized (select id as owner_id, ${day} from tenant where id = ${tenantId})`
    : sql`${grantedAtOrBelow(sql, descendantsOf, tenantId)}, owner as materialized (
        select id as owner_id, ${day} from tenant where id in (select tenant_id from granted))`
}

/** Merges the ranges of one tenant. */
const merged = (sql: Sql, ranges: Ranges, values: Fragment, size: number) => sql`
  page as (
    select page.* from owner ${values} cross join lateral (${ranges.first(size)}) page
    order by ${ranges.sorting} limit ${size}
  )`

/**
 * Merges the ranges of several tenants. The first rows of all are among those of the ranges that begin first: the other
 * ranges are not read further.
 */
const mergedOfMany = (sql: Sql, ranges: Ranges, values: Fragment, among: Fragment, size: number) => sql`
  head as materialized (
    select owner.* ${among} from owner ${values} cross join lateral (
      select * from (${ranges.first(1)}) page order by ${ranges.sorting} limit 1
    ) page
    order by ${ranges.sorting} limit ${size}
  ), page as (
    select page.* from head as owner cross join lateral (${ranges.first(size)}) page
    order by ${ranges.sorting} limit ${size}
  )`

/**
 * As `mergedOfMany`, when a text is searched: a rare one is found faster in the texts of all tenants, and a common one
 * by reading the ranges.
 */
const foundInMany = (sql: Sql, ranges: Ranges, values: Fragment, among: Fragment, size: number) => sql`
  candidate as materialized (
    select * from (${ranges.any()}) page limit ${mostCandidates}
  ), head as materialized (
    select owner.* ${among} from owner ${values} cross join lateral (
      select * from (${ranges.first(1)}) page order by ${ranges.sorting} limit 1
    ) page
    where (select count(*) from candidate) = ${mostCandidates}
    order by ${ranges.sorting} limit ${size}
  ), page as (
    select page.* from (
      select page.* from candidate page where (select count(*) from candidate) < ${mostCandidates}
      union all
      select page.* from head as owner cross join lateral (${ranges.first(size)}) page
    ) page
    order by ${ranges.sorting} limit ${size}
  )`

/** Creates the reader of a table. */
export function searchTable<Row>({ name, row, ...searched }: SearchTableOptions<Row>): SearchTable<Row> {
  const { table } = searched
  return {
    async page(sql, search, window, watermark) {
      const ranges = new Ranges(sql, searched, { search, window, watermark })
      if (ranges.isEmpty) return { ...toPage(window, []), keys: new Map() }
      const { among, descendantsOf } = search
      const size = window.limit + 1
      const values = sql.unsafe(among ? `cross join unnest(array[${among.values.join()}]) as among` : '')
      const value = sql.unsafe(among ? ', among' : '')
      const merge = search.searchesText ? foundInMany : mergedOfMany
      const page = descendantsOf === null ? merged(sql, ranges, values, size) : merge(sql, ranges, values, value, size)
      const [found] = await unprepared(
        sql`
        with ${sql.unsafe(`/* ${name}.search */`)} recursive ${owners(sql, search)}, ${page}
        select string_agg(row, ''), json_agg(sort_key) from (
          select ${row.select(sql)} as row, page.sort_key::text as sort_key
          from page join ${sql.unsafe(table)} on id = record_id
          order by ${ranges.sorting}
        ) listed`.raw(),
      )
      const read = row.read(found?.[0])
      const texts = found?.[1] ? keyTexts.parse(JSON.parse(found[1].toString())) : []
      const keys = new Map(read.map((one, index) => [one, texts[index] ?? null]))
      return { ...toPage(window, read), keys }
    },

    async count(sql, search, updatedSince) {
      const [found] = await unprepared(sql<{ count: number }[]>`
        with ${sql.unsafe(`/* ${name}.search_count */`)} recursive ${owners(sql, search)}
        select count(*) as count from owner cross join ${sql.unsafe(table)}
        where ${matching(sql, searched, search, updatedSince)}`)
      return found?.count ?? 0
    },
  }
}
