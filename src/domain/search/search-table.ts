/** Reads pages and counts of filtered and ordered lists, of one tenant or of several. */
import { z } from 'zod'
import type { Fragment, Sql } from '../../db/connect.ts'
import type { RowCodec } from '../../db/row-codec.ts'
import { unprepared } from '../../db/statement.ts'
import type { Instant } from '../record/instant.ts'
import { type Page, type PageWindow, toPage } from '../record/page.ts'
import type { Condition, IndexRange } from './field.ts'
import { type Owners, readOwners } from './owners.ts'
import { Ranges, type SearchedTable, valuesOf } from './ranges.ts'
import type { Search } from './search.ts'

/** A table whose lists can be filtered and ordered. */
interface SearchTableOptions<Row> extends SearchedTable {
  /** The first part of the names of its statements: `voucher` for `voucher.search`. */
  name: string
  /** The table of the records. */
  records: string
  row: RowCodec<Row>
}

/** A place in a list: the text of the value that it is ordered by, null for a row without one, and the id. */
interface Place {
  key: string | null
  id: number
}

/** A page with the keys of its rows. */
export interface KeyedPage<Row> extends Page<Row> {
  keys: ReadonlyMap<Row, string | null>
  /** Where the page ends, when the list goes on: there may be no record at this place any more. */
  end: Place | null
}

/** The number of records of a list. */
export interface Count {
  count: number
  precision: 'EXACT' | 'AT_LEAST'
}

/** Reads filtered and ordered lists of one table. */
export interface SearchTable<Row> {
  /** Reads a page. @param until no entry stamped from then on is read */
  page(sql: Sql, search: Search, window: PageWindow, until: Instant): Promise<KeyedPage<Row>>
  /** Counts the records of the whole list. */
  count(sql: Sql, search: Search, updatedSince: Instant | null): Promise<Count>
}

/** The most rows of an index range that are read to find those that match, and the highest count. */
export const mostCandidates = 5_000

/** The number of latest rows that show how common each index condition is. */
const sampleSize = 500

/** A condition that more rows meet is not looked up: the index would be read for all of them before the first row. */
const mostMatches = sampleSize / 20

/** The most index conditions that are looked up at one tenant, and at each of several: each searches the index. */
const mostConditions = { ofOne: 6, ofEach: 2 }

/** The most tenants at which index conditions are looked up: that takes 0.2 ms for each of them. */
const mostTenants = 1_000

/** The number of rows of a list that are read first: enough for a filter that one of ten matches. */
const firstRows = 500

/** Adds the condition of `updatedSince`, which the index of the default order serves. */
function since(search: Search, stamp: string, updatedSince: Instant | null): Search {
  if (updatedSince === null) return search
  const where = (sql: Sql) => sql`${sql.unsafe(stamp)} >= ${updatedSince}::text::timestamptz`
  const range = { order: { key: stamp }, where }
  return { ...search, conditions: [...search.conditions, where], ranges: [...search.ranges, range] }
}

const everything: PageWindow = {
  limit: 0,
  backward: false,
  after: null,
  before: null,
  afterGiven: false,
  beforeGiven: false,
  updatedSince: null,
}

const keyTexts = z.array(z.string().nullable())
const placeText = z.tuple([z.string().nullable(), z.number()])
const parsed = (bytes: Buffer | null | undefined): unknown => bytes && JSON.parse(bytes.toString())

function toPlace(bytes: Buffer | null | undefined): Place | null {
  if (!bytes) return null
  const [key, id] = placeText.parse(parsed(bytes))
  return { key, id }
}

/** Creates the reader of a table. */
export function searchTable<Row>({ name, row, records, ...searched }: SearchTableOptions<Row>): SearchTable<Row> {
  const { stamp, texts } = searched
  const hasEntries = searched.table !== records
  const textsOf = texts ? `cross join (select ${texts.columns} from ${texts.of}(${records})) text` : ''
  const whole: IndexRange = { order: { key: stamp }, where: sql => sql`true` }

  /** Returns the index ranges that have all matching rows. One of a text needs rare trigrams. */
  async function rangesOf(
    sql: Sql,
    ranges: Ranges,
    { relation, count }: Owners,
    search: Search,
  ): Promise<IndexRange[]> {
    if (search.indexConditions.length === 0 || count > mostTenants) return [...search.ranges]
    const met = search.indexConditions.map(condition => sql`count(*) filter (where ${condition(sql)})`)
    const [found] = await unprepared(
      sql`
      with ${sql.unsafe(`/* ${name}.search_sample */`)} ${relation}
      select ${met.reduce((one, other) => sql`${one}, ${other}`)}
      from (${ranges.latest(Math.ceil(sampleSize / count), sampleSize)}) latest`.raw(),
    )
    const rare = search.indexConditions
      .map((condition, index) => ({ condition, rows: Number(found?.[index]) }))
      .filter(({ rows }) => rows <= mostMatches)
      .sort((one, other) => one.rows - other.rows)
      .slice(0, count === 1 ? mostConditions.ofOne : mostConditions.ofEach)
    if (rare.length === 0) return [...search.ranges]
    const where: Condition = sql =>
      rare.map(({ condition }) => condition(sql)).reduce((one, other) => sql`${one} and ${other}`)
    return [{ order: null, where }, ...search.ranges]
  }

  /**
   * Returns the end of a statement that reads a page: the records as they are now, without those that no longer match their
   * entries.
   *
   * @param page the places of the rows that match, in order, one more than the page has
   * @param more one more column
   */
  const readPlaces = (sql: Sql, ranges: Ranges, { limit }: PageWindow, page: Fragment, more: Fragment): Fragment => sql`
    picked as materialized (select page.*, row_number() over (order by ${ranges.sorting}) as rank from (${page}) page)
    select string_agg(row, ''), json_agg(sort_key), (select count(*) from picked),
           (select json_build_array(sort_key::text, record_id) from picked where rank = ${limit}), ${more}
    from (
      select ${row.select(sql)} as row, picked.sort_key::text as sort_key
      from picked join ${sql.unsafe(records)} on id = record_id join owner on owner_id = tenant_id
      ${sql.unsafe(hasEntries ? `cross join lateral (select from gateway.entry_of(${records}) ${textsOf} where` : '')}
      ${hasEntries ? sql`${ranges.stillMatches()}) present` : sql``}
      where rank <= ${limit} order by rank
    ) listed`

  /** @param reached how far the list was read for a page that is not full; null: to its end */
  function toKeyedPage(window: PageWindow, found: readonly (Buffer | null)[] | undefined, reached: Place | null) {
    const [rows, keys, count, last] = found ?? []
    const read = row.read(rows)
    const texts = keyTexts.parse(parsed(keys) ?? [])
    const isFull = Number(count) > window.limit
    const end = isFull ? toPlace(last) : reached
    const page: KeyedPage<Row> = {
      ...toPage(window, read, isFull || end !== null),
      keys: new Map(read.map((one, index) => [one, texts[index] ?? null])),
      end,
    }
    return { page, isWhole: isFull || end === null }
  }

  /** Reads the page from an index range; null when it has too many rows. */
  async function readRange(sql: Sql, ranges: Ranges, { relation }: Owners, range: IndexRange, window: PageWindow) {
    const page = sql`
      select * from candidate page
      where matches and ${ranges.between()} and (select count(*) from candidate) <= ${mostCandidates}
      order by ${ranges.sorting} limit ${window.limit + 1}`
    const [found] = await unprepared(
      sql`
      with ${sql.unsafe(`/* ${name}.search_range */`)} ${relation},
        candidate as materialized (${ranges.candidates(range, mostCandidates + 1)}),
        ${readPlaces(sql, ranges, window, page, sql`(select count(*) from candidate)`)}`.raw(),
    )
    return Number(found?.[4]) > mostCandidates ? null : toKeyedPage(window, found, null).page
  }

  /**
   * Reads the page from the first rows of the list's order, and reports how far they go. The ranges of several tenants
   * are merged: from each the first rows, and more from those that end first: as many as fill the page together with the
   * first rows of those that end before.
   *
   * @param rows about how many
   */
  async function scan(sql: Sql, ranges: Ranges, owners: Owners, search: Search, window: PageWindow, rows: number) {
    const size = window.limit + 1
    const count = owners.count * (search.columnValues?.values.length ?? 1)
    const isMany = count > size
    const depth = Math.max(isMany ? 1 : size, Math.floor(rows / count))
    const values = valuesOf(sql, search.columnValues)
    const valueColumn = sql.unsafe(search.columnValues ? ', column_value' : '')
    const deeper = sql`
      deep as materialized (
        select owner.*, ${size + depth} - ended * ${depth} as depth from (
          select span, row_number() over (order by max(place)) as ended
          from (select span, row_number() over (order by ${ranges.sorting}) as place from head page) placed
          group by span having count(*) = ${depth}
        ) cut join span owner using (span) where ended * ${depth} < ${size}
      ), listed as (
        select * from head where span not in (select span from deep)
        union all
        select owner.span, owner.depth, page.* from deep owner cross join lateral (${ranges.first(sql`owner.depth`)}) page
      ),`
    const [found] = await unprepared(
      sql`
      with ${sql.unsafe(`/* ${name}.search */`)} ${owners.relation},
      span as materialized (select row_number() over () as span, owner.* ${valueColumn} from owner ${values}),
      head as materialized (
        select owner.span, ${depth}::int as depth, page.* from span owner cross join lateral (${ranges.first(depth)}) page
      ), ${isMany ? deeper : sql`listed as (select * from head),`}
      numbered as materialized (select *, row_number() over (order by ${ranges.sorting}) as place from listed page),
      reached as materialized (
        select min(place) as place
        from (select max(place) as place from numbered group by span, depth having count(*) = depth) cut
      ),
      ${readPlaces(
        sql,
        ranges,
        window,
        sql`select page.* from numbered page, reached
            where matches and page.place <= coalesce(reached.place, page.place) order by page.place limit ${size}`,
        sql`(select json_build_array(sort_key::text, record_id) from numbered join reached using (place))`,
      )}`.raw(),
    )
    return toKeyedPage(window, found, toPlace(found?.[4]))
  }

  return {
    async page(sql, unbounded, window, until) {
      const search = since(unbounded, stamp, window.updatedSince)
      const ranges = new Ranges(sql, searched, search, window, until)
      const none = { ...toPage<Row>(window, [], false), keys: new Map(), end: null }
      if (ranges.isEmpty) return none
      const owners = await readOwners(sql, search)
      if (owners.count === 0) return none
      const first = await scan(sql, ranges, owners, search, window, search.conditions.length > 0 ? firstRows : 0)
      // The price of such a page pays for no more (`countOperations`).
      if (first.isWhole || (search.isServed && owners.count > 1)) return first.page
      const found = await rangesOf(sql, ranges, owners, search)
      // A short list of several tenants is read whole: the scan ends where the rows that it reads of one of them do.
      for (const range of found.length > 0 || owners.count === 1 ? found : [whole]) {
        const page = await readRange(sql, ranges, owners, range, window)
        if (page) return page
      }
      return (await scan(sql, ranges, owners, search, window, mostCandidates)).page
    },

    async count(sql, unbounded, updatedSince) {
      const search = since(unbounded, stamp, updatedSince)
      const ranges = new Ranges(sql, searched, search, everything, null)
      if (ranges.isEmpty) return { count: 0, precision: 'EXACT' }
      const owners = await readOwners(sql, search)
      if (owners.count === 0) return { count: 0, precision: 'EXACT' }
      const found = await rangesOf(sql, ranges, owners, search)
      let most = 0
      for (const range of found.length > 0 ? found : [whole]) {
        const [counted] = await unprepared(sql<{ count: number; read: number }[]>`
          with ${sql.unsafe(`/* ${name}.search_count */`)} ${owners.relation}
          select count(*) filter (where matches) as count, count(*) as read
          from (${ranges.candidates(range, mostCandidates + 1)}) candidate`)
        const { count = 0, read = 0 } = counted ?? {}
        if (read <= mostCandidates) return { count, precision: 'EXACT' }
        most = Math.max(most, Math.min(count, mostCandidates))
      }
      return { count: most, precision: 'AT_LEAST' }
    },
  }
}
