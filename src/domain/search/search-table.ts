import { z } from 'zod'
import type { RowCodec } from '../../db/row/row-codec.ts'
import type { Fragment, RecordSql } from '../../db/sql.ts'
import { withoutPreparing } from '../../db/statement/statement.ts'
import { type PageWindow, type RecordPage, toPage } from '../paging/page.ts'
import { lastStamp, readServerTime, toServerTime } from '../sync/server-time.ts'
import type { Instant } from '../value/instant.ts'
import { type Condition, parseOnce } from './field.ts'
import { readSearchedTenants } from './owners.ts'
import { Ranges, type SearchedTable } from './ranges.ts'
import type { Search } from './search.ts'
import { findNarrowestRange, findRareText, type Reading } from './selectivity.ts'

/** The options of a table whose lists can be filtered and ordered. */
interface SearchTableOptions<Row> extends SearchedTable {
  /** The first part of the names of the statements: `voucher` for `voucher.search`. */
  name: string
  row: RowCodec<Row>
}

export interface KeyedPage<Row> extends RecordPage<Row> {
  keys: ReadonlyMap<Row, string | null>
  /**
   * The position at which the page ends; null when the list ends with the page. `key` is the text of the value that
   * orders the list (null for a row without a value). The record at the position may not match the filter.
   */
  end: { key: string | null; id: number } | null
}

/** The number of records in a list, exact or as a lower bound. */
export interface Count {
  count: number
  precision: 'EXACT' | 'AT_LEAST'
}

/** Reads filtered and ordered lists of one table. */
export interface SearchTable<Row> {
  page(sql: RecordSql, search: Search, window: PageWindow): Promise<KeyedPage<Row>>
  /** Counts the records of the whole list, up to `mostCandidates`. */
  count(sql: RecordSql, search: Search, updatedSince: Instant | null): Promise<Count>
}

/** The maximum number of rows of a list or of an index range that a page reads; also the highest count. */
export const mostCandidates = 5_000

/** The maximum number of rows of an index range that is read before the beginning of the list is tried. */
const fewCandidates = 1_500

/** Returns the search with the condition of `updatedSince`, which the index of the default order serves. */
function withUpdatedSince(search: Search, updatedSince: Instant | null): Search {
  if (updatedSince === null) return search
  const where: Condition = sql => sql`updated_at >= ${parseOnce(sql, updatedSince, 'timestamptz')}`
  return {
    ...search,
    conditions: [...search.conditions, where],
    rangeKeys: search.rangeKeys && [...search.rangeKeys, 'updated_at'],
    ranges: [...search.ranges, { key: 'updated_at', where }],
    served: search.order.key === 'updated_at' ? where : search.served,
  }
}

const matchEverything: Condition = sql => sql`true`

const placesText = z.array(z.tuple([z.string().nullable(), z.number(), z.boolean(), z.boolean()]))

/** Creates the reader of a table. */
export function createSearchTable<Row extends { id: number }>({
  name,
  row,
  ...searched
}: SearchTableOptions<Row>): SearchTable<Row> {
  async function open(sql: RecordSql, unbounded: Search, window: PageWindow): Promise<Reading> {
    const search = withUpdatedSince(unbounded, window.updatedSince)
    const owners = await readSearchedTenants(sql, search)
    // Without another range, a short list of several tenants is read as a whole, because a scan would end at the last
    // read row of one tenant.
    const all = owners.count > 1 && search.ranges.length === 0 ? [{ key: '', where: matchEverything }] : search.ranges
    return { sql, name, search: { ...search, ranges: all }, owners, ranges: new Ranges(sql, searched, search, window) }
  }

  /**
   * Returns the end of a statement that reads a page: the records of the page as one text, and the positions of all
   * rows in the list.
   *
   * @param limit the number of records on the page
   * @param page the relation with the matching rows, and with the last row of each list that was not read to the end
   * @param more the SQL of an additional column
   */
  const readPlaces = ({ sql, ranges }: Reading, limit: number, page: Fragment, more: Fragment): Fragment => sql`
    picked as materialized (
      select *, row_number() over () as place from (select * from ${page} ${ranges.sorting} limit ${limit + 1}) first
    )
    select string_agg(${row.select(sql)}, '' order by place) filter (where matches),
    json_agg(json_build_array(sort_key::text, record_id, matches, is_end) order by place),
    ${more}, ${lastStamp(sql)}
    from picked left join ${sql.unsafe(searched.table)} on id = record_id and matches`

  function toKeyedPage(
    window: PageWindow,
    found: readonly (Buffer | null)[] | undefined,
  ): KeyedPage<Row> & { isWhole: boolean } {
    const [rows, texts, , stamp] = found ?? []
    const places = placesText
      .parse(JSON.parse(texts?.toString() ?? '[]'))
      .map(([key, id, matches, isEnd]) => ({ key, id, matches, isEnd }))
    const ending = places.findIndex(({ isEnd }) => isEnd)
    const reached = ending < 0 ? places : places.slice(0, ending + 1)
    const isFull = reached.filter(({ matches }) => matches).length > window.limit
    const keys = new Map(reached.slice(0, window.limit).map(({ key, id }) => [id, key]))
    const read = row.read(rows).filter(({ id }) => keys.has(id))
    const end = (isFull ? reached[window.limit - 1] : places[ending]) ?? null
    return {
      ...toPage(window, read, isFull || end !== null),
      serverTime: toServerTime(stamp),
      keys: new Map(read.map(one => [one, keys.get(one.id) ?? null])),
      end,
      isWhole: isFull || end === null,
    }
  }

  /**
   * Reads the page from the rows of an index that meet a condition; null when there are more than `mostCandidates`
   * rows.
   */
  async function readCandidates(reading: Reading, window: PageWindow, indexed: string, where: Condition) {
    const { sql, owners, ranges } = reading
    const between = ranges.between(sql`missing`, sql`sort_key`, sql`record_id`)
    const count = sql`(select count(*) from candidate)`
    const page = sql`candidate where matches ${between} and ${count} <= ${mostCandidates}`
    const [found] = await withoutPreparing(
      sql`
      with ${sql.unsafe(`/* ${name}.search_range */`)}
      ${owners.relation},
      candidate as materialized (${ranges.candidates(indexed, where, mostCandidates + 1)}
      ),
      ${readPlaces(reading, window.limit, page, count)}`.raw(),
    )
    return Number(found?.[2]) > mostCandidates ? null : toKeyedPage(window, found)
  }

  /**
   * Reads the page from the first rows in the list's order. With many tenants, the statement first reads a few rows per
   * list, and then more rows of the lists whose last read row comes first in the order. The page ends at the first row
   * after which rows of its list were not read.
   *
   * @param rows the approximate number of rows to read in all lists together; 0 for the rows of one page, when all rows
   * match
   */
  async function scan(reading: Reading, window: PageWindow, rows: number) {
    const { sql, owners, ranges } = reading
    const size = window.limit + 1
    const isMany = owners.count > size
    const depth = Math.max(isMany ? 1 : size, Math.floor(rows / owners.count))
    const listed = isMany
      ? sql`
        head as materialized (${ranges.first(sql`owner`, depth)}
        ),
        nearest as materialized (
          select owner.* from (select owner_id from head where is_end ${ranges.sorting} limit ${size}) first
          join owner using (owner_id)
        ),
        listed as (
          select * from head where owner_id not in (select owner_id from nearest)
          union all
          ${ranges.first(sql`nearest owner`, depth + Math.max(size, Math.floor(rows / size)))}
        )`
      : sql`
        listed as (${ranges.first(sql`owner`, depth)}
        )`
    const [found] = await withoutPreparing(
      sql`
      with ${sql.unsafe(`/* ${name}.search */`)}
      ${owners.relation},
      ${listed},
      ${readPlaces(reading, window.limit, sql`listed`, sql`null`)}`.raw(),
    )
    return toKeyedPage(window, found)
  }

  return {
    // Reads by a text that few rows have; otherwise by a range of few rows; otherwise in the order of the list. When
    // this does not fill the page, reads by a range of more rows.
    async page(sql, unbounded, window) {
      const reading = await open(sql, unbounded, window)
      const { search, owners } = reading
      if (owners.count === 0) {
        return { ...toPage<Row>(window, [], false), serverTime: await readServerTime(sql), keys: new Map(), end: null }
      }
      const isOne = owners.count === 1
      // The cost of such a page in quota units covers only this read (`costOfSearch`).
      if (search.isServed && !isOne) return scan(reading, window, 0)
      const text = await findRareText(reading)
      const byText = text && (await readCandidates(reading, window, 'texts', text))
      if (byText) return byText
      // With one tenant, the range of the order's own index is the same as the beginning of the list.
      const isCounted = (key: string) => !isOne || key !== search.order.key
      const narrow = await findNarrowestRange(reading, isCounted, mostCandidates)
      const readRange = () => narrow && readCandidates(reading, window, narrow.key, narrow.where)
      const isFew = narrow !== null && narrow.size <= fewCandidates
      const first = (isFew && (await readRange())) || (await scan(reading, window, mostCandidates))
      return first.isWhole ? first : ((await readRange()) ?? first)
    },

    async count(sql, unbounded, updatedSince) {
      const wholeList = { limit: 0, backward: false, after: null, before: null, updatedSince, until: null }
      const reading = await open(sql, unbounded, wholeList)
      let most = 0
      const countWhere = async (indexed: string, where: Condition): Promise<Count | null> => {
        const [found] = await withoutPreparing(sql<{ count: number; read: number }[]>`
          with ${sql.unsafe(`/* ${name}.search_count */`)}
          ${reading.owners.relation}
          select count(*) filter (where matches) as count, count(*) as read
          from (${reading.ranges.candidates(indexed, where, mostCandidates + 1)}
          ) candidate`)
        const { count = 0, read = 0 } = found ?? {}
        most = Math.max(most, Math.min(count, mostCandidates))
        return read > mostCandidates ? null : { count, precision: 'EXACT' }
      }
      const text = await findRareText(reading)
      const byText = text && (await countWhere('texts', text))
      if (byText) return byText
      const narrow = await findNarrowestRange(reading, () => true, mostCandidates)
      const { rangeKeys, ranges } = reading.search
      if (narrow && rangeKeys?.length === 1) return { count: narrow.size, precision: 'EXACT' }
      const range = narrow ?? ranges[0]
      return (
        (await countWhere(range?.key ?? '', range?.where ?? matchEverything)) ?? { count: most, precision: 'AT_LEAST' }
      )
    },
  }
}
