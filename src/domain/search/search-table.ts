/** Reads pages and counts of filtered and ordered lists, of one tenant or of several. */
import { z } from 'zod'
import type { Fragment, Sql } from '../../db/connect.ts'
import type { RowCodec } from '../../db/row-codec.ts'
import { unprepared } from '../../db/statement.ts'
import type { Instant } from '../record/instant.ts'
import { type Page, type PageWindow, toPage } from '../record/page.ts'
import type { Condition, IndexRange } from './field.ts'
import { type Owners, readOwners } from './owners.ts'
import { Ranges, type SearchedTable } from './ranges.ts'
import type { Search } from './search.ts'

/** A table whose lists can be filtered and ordered. */
interface SearchTableOptions<Row> extends SearchedTable {
  /** The first part of the names of its statements: `voucher` for `voucher.search`. */
  name: string
  /** The table of the records. */
  records: string
  row: RowCodec<Row>
}

/** A place in a list: the text of the value that orders the list (null for a row without one), and the id. */
interface Place {
  key: string | null
  id: number
}

/** A page with the keys of its rows. */
export interface KeyedPage<Row> extends Page<Row> {
  keys: ReadonlyMap<Row, string | null>
  /** The place where the page ends, when the list goes on: there may be no record at this place any more. */
  end: Place | null
}

/** A page, and whether it has all that it can have. */
type ReadPage<Row> = KeyedPage<Row> & { isWhole: boolean }

/** The number of records of a list. */
export interface Count {
  count: number
  precision: 'EXACT' | 'AT_LEAST'
}

/** Reads filtered and ordered lists of one table. */
export interface SearchTable<Row> {
  /** Reads a page. */
  page(sql: Sql, search: Search, window: PageWindow): Promise<KeyedPage<Row>>
  /** Counts the records of the whole list. */
  count(sql: Sql, search: Search, updatedSince: Instant | null): Promise<Count>
}

/** The most rows of an index range that are read to find those that match, and the highest count. */
export const mostCandidates = 5_000

/** The number of latest rows that show how common each text condition is. */
const sampleSize = 500

/** A condition that more rows meet is not looked up: the index would be read for all of them before the first row. */
const mostMatches = sampleSize / 20

/** The most text conditions that are looked up at one tenant, and at each of several: each searches the index. */
const mostConditions = { ofOne: 6, ofEach: 2 }

/** The most tenants at which text conditions are looked up: that takes 0.2 ms for each of them. */
const mostTenants = 1_000

/** The number of rows of a list that are read first: enough for a filter that one row in ten matches. */
const firstRows = 500

/** Adds the condition of `updatedSince`, which the index of the default order serves. */
function since(search: Search, stamp: string, updatedSince: Instant | null): Search {
  if (updatedSince === null) return search
  const where: Condition = sql => sql`${sql.unsafe(stamp)} >= ${updatedSince}::text::timestamptz`
  return {
    ...search,
    conditions: [...search.conditions, where],
    ranges: [...search.ranges, { key: stamp, where }],
    served: search.order.key === stamp ? [...search.served, where] : search.served,
  }
}

const everything: PageWindow = {
  limit: 0,
  backward: false,
  after: null,
  before: null,
  updatedSince: null,
  until: null,
}

const keyTexts = z.array(z.string().nullable())
const planText = z.tuple([z.object({ Plan: z.object({ 'Plan Rows': z.number() }) })])
const placeText = z.tuple([z.string().nullable(), z.number()])
const parsed = (bytes: Buffer | null | undefined): unknown => bytes && JSON.parse(bytes.toString())

function toPlace(bytes: Buffer | null | undefined): Place | null {
  if (!bytes) return null
  const [key, id] = placeText.parse(parsed(bytes))
  return { key, id }
}

/** Creates the reader of a table. */
export function searchTable<Row>({ name, row, records, ...searched }: SearchTableOptions<Row>): SearchTable<Row> {
  const { stamp } = searched
  const hasEntries = searched.table !== records

  /**
   * Returns the ranges of one tenant in which the planner expects few enough rows: reading one that has too many is in vain.
   *
   * @param least how many are returned even so
   */
  async function narrowest(sql: Sql, ranges: Ranges, relation: Fragment, all: readonly IndexRange[], least: number) {
    const estimated: { range: IndexRange; rows: number }[] = []
    for (const range of all) {
      const [found] = await unprepared(
        sql`explain (format json) with ${sql.unsafe(`/* ${name}.search_estimate */`)} ${relation} ${ranges.meeting(range.where)}`.raw(),
      )
      const [plan] = planText.parse(parsed(found?.[0]))
      estimated.push({ range, rows: plan.Plan['Plan Rows'] })
    }
    estimated.sort((one, other) => one.rows - other.rows)
    // It expects `gateway.is_read` of a third of the rows.
    return estimated.filter(({ rows }, place) => place < least || 2 * rows <= mostCandidates).map(({ range }) => range)
  }

  /**
   * Returns the relations that have all matching rows, each of an index. The index of texts needs rare trigrams.
   *
   * @param least how many ranges of filters are among them however many rows these have
   */
  async function candidatesOf(
    sql: Sql,
    ranges: Ranges,
    { relation, count }: Owners,
    search: Search,
    least: number,
  ): Promise<Fragment[]> {
    const tried = count === 1 ? await narrowest(sql, ranges, relation, search.ranges, least) : search.ranges
    const all = tried.map(({ where }) => ranges.candidates(where, false, mostCandidates + 1))
    // A short list of several tenants is read whole: a scan ends where the rows that it reads of one of them do.
    if (all.length === 0 && count > 1) all.push(ranges.candidates(sql => sql`true`, false, mostCandidates + 1))
    if (search.textConditions.length === 0 || count > mostTenants) return all
    const met = search.textConditions.map(condition => sql`count(*) filter (where ${condition(sql)})`)
    const [found] = await unprepared(
      sql`
      with ${sql.unsafe(`/* ${name}.search_sample */`)} ${relation}
      select ${met.reduce((one, other) => sql`${one}, ${other}`)}
      from (${ranges.latest(Math.ceil(sampleSize / count), sampleSize)}) latest`.raw(),
    )
    const rare = search.textConditions
      .map((condition, index) => ({ condition, rows: Number(found?.[index]) }))
      .filter(({ rows }) => rows <= mostMatches)
      .sort((one, other) => one.rows - other.rows)
      .slice(0, count === 1 ? mostConditions.ofOne : mostConditions.ofEach)
    if (rare.length === 0) return all
    const where: Condition = sql =>
      rare.map(({ condition }) => condition(sql)).reduce((one, other) => sql`${one} and ${other}`)
    return [ranges.candidates(where, true, mostCandidates + 1), ...all]
  }

  /**
   * Returns the end of a statement that reads a page: the records as they are now, without those that no longer match their
   * entries.
   *
   * @param page the places of the rows that match, in order, one more than the page has
   * @param more one more column
   */
  const readPlaces = (sql: Sql, ranges: Ranges, { limit }: PageWindow, page: Fragment, more: Fragment): Fragment => sql`
    picked as materialized (
      select record_id, sort_key, row_number() over (order by ${ranges.sorting}) as rank from (${page}) page
    )
    select string_agg(row, ''), json_agg(sort_key), (select count(*) from picked),
           (select json_build_array(sort_key::text, record_id) from picked where rank = ${limit}), ${more}
    from (
      select ${row.select(sql)} as row, picked.sort_key::text as sort_key
      from picked join ${sql.unsafe(records)} on id = record_id join owner on owner_id = tenant_id
      ${hasEntries ? ranges.present(records) : sql``}
      where rank <= ${limit} order by rank
    ) listed`

  /** @param reached how far the list was read for a page that is not full; null: to its end */
  function toKeyedPage(
    window: PageWindow,
    found: readonly (Buffer | null)[] | undefined,
    reached: Place | null,
  ): ReadPage<Row> {
    const [rows, keys, count, last] = found ?? []
    const read = row.read(rows)
    const texts = keyTexts.parse(parsed(keys) ?? [])
    const isFull = Number(count) > window.limit
    const end = isFull ? toPlace(last) : reached
    return {
      ...toPage(window, read, isFull || end !== null),
      keys: new Map(read.map((one, index) => [one, texts[index] ?? null])),
      end,
      isWhole: isFull || end === null,
    }
  }

  /** Reads the page from the candidates of an index; null when there are too many. */
  async function readCandidates(sql: Sql, ranges: Ranges, { relation }: Owners, all: Fragment, window: PageWindow) {
    const between = ranges.between(sql`missing`, sql`sort_key`, sql`record_id`)
    const page = sql`
      select * from candidate page
      where matches and ${between} and (select count(*) from candidate) <= ${mostCandidates}
      order by ${ranges.sorting} limit ${window.limit + 1}`
    const [found] = await unprepared(
      sql`
      with ${sql.unsafe(`/* ${name}.search_range */`)} ${relation}, candidate as materialized (${all}),
        ${readPlaces(sql, ranges, window, page, sql`(select count(*) from candidate)`)}`.raw(),
    )
    return Number(found?.[4]) > mostCandidates ? null : toKeyedPage(window, found, null)
  }

  /**
   * Reads the page from the first rows of the list's order, and reports how far they go. With many tenants, it reads a
   * few rows of each list, and more of the lists whose rows end first. The page ends where the rows of a longer list
   * end.
   *
   * @param rows about how many are read; 0: as many as fill the page when all match
   */
  async function scan(sql: Sql, ranges: Ranges, owners: Owners, window: PageWindow, rows: number) {
    const size = window.limit + 1
    const isMany = owners.count > size
    const depth = Math.max(isMany ? 1 : size, Math.floor(rows / owners.count))
    const deep = depth + (rows === 0 ? size : Math.floor(rows / size))
    const listed = (lists: Fragment, length: number) => sql`
      select owner.*, ${length}::int as length, page.* from ${lists} owner cross join lateral (${ranges.first(length)}) page`
    const merged = sql`
      head as materialized (${listed(sql`owner`, depth)}), nearest as materialized (
        select owner.* from (
          select owner_id from (select owner_id, row_number() over (order by ${ranges.sorting}) as place from head page) placed
          group by owner_id having count(*) = ${depth} order by max(place) limit ${size}
        ) first join owner using (owner_id)
      ), listed as (
        select * from head where owner_id not in (select owner_id from nearest) union all ${listed(sql`nearest`, deep)}
      )`
    const [found] = await unprepared(
      sql`
      with ${sql.unsafe(`/* ${name}.search */`)} ${owners.relation},
      ${isMany ? merged : sql`listed as (${listed(sql`owner`, depth)})`},
      numbered as materialized (select *, row_number() over (order by ${ranges.sorting}) as place from listed page),
      reached as materialized (
        select min(place) as place
        from (select max(place) as place from numbered group by owner_id, length having count(*) = length) cut
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
    async page(sql, unbounded, window) {
      const search = since(unbounded, stamp, window.updatedSince)
      const ranges = new Ranges(sql, searched, search, window)
      const owners = await readOwners(sql, search)
      if (owners.count === 0) return { ...toPage<Row>(window, [], false), keys: new Map(), end: null }
      const size = window.limit + 1
      const isOne = owners.count === 1
      // The texts of a row are looked up, and a word that is common is in most rows.
      const start = search.isServed ? 0 : isOne && search.words ? 2 * size : firstRows
      const first = await scan(sql, ranges, owners, window, start)
      // The price of such a page covers only these rows (`costOfSearch`).
      if (first.isWhole || (search.isServed && !isOne)) return first
      // Twice the rows that should fill the page, by the share of the first rows that matched.
      const likely = (2 * Math.max(start, size) * size) / first.rows.length
      if (isOne && likely <= mostCandidates) {
        const page = await scan(sql, ranges, owners, window, likely)
        if (page.isWhole) return page
      }
      for (const candidates of await candidatesOf(sql, ranges, owners, search, 0)) {
        const page = await readCandidates(sql, ranges, owners, candidates, window)
        if (page) return page
      }
      return scan(sql, ranges, owners, window, mostCandidates)
    },

    async count(sql, unbounded, updatedSince) {
      const search = since(unbounded, stamp, updatedSince)
      const ranges = new Ranges(sql, searched, search, everything)
      const owners = await readOwners(sql, search)
      const all = await candidatesOf(sql, ranges, owners, search, 1)
      if (all.length === 0) all.push(ranges.candidates(sql => sql`true`, false, mostCandidates + 1))
      let most = 0
      for (const candidates of all) {
        const [counted] = await unprepared(sql<{ count: number; read: number }[]>`
          with ${sql.unsafe(`/* ${name}.search_count */`)} ${owners.relation}
          select count(*) filter (where matches) as count, count(*) as read from (${candidates}) candidate`)
        const { count = 0, read = 0 } = counted ?? {}
        if (read <= mostCandidates) return { count, precision: 'EXACT' }
        most = Math.max(most, Math.min(count, mostCandidates))
      }
      return { count: most, precision: 'AT_LEAST' }
    },
  }
}
