import type { RowCodec } from '../../db/row/row-codec.ts'
import { arrayText, type Fragment, type RecordSql } from '../../db/sql.ts'
import type { Position } from '../paging/cursor.ts'
import { boundsOf, type PageWindow, type RecordPage, readFromBothEnds, toPage } from '../paging/page.ts'
import { lastStamp, toServerTime } from '../sync/server-time.ts'
import { beforeAll, type Instant } from '../value/instant.ts'
import type { Chunk } from './chunk.ts'

/** A table whose rows belong to tenants (R20). All texts are SQL of this service, and contain no input of a caller. */
interface TenantTableOptions<Row> {
  /** The first part of the names of the statements: `voucher` for `voucher.list`. */
  name: string
  table: string
  row: RowCodec<Row>
  /** A condition for the rows that the table reader reads. */
  only?: string | undefined
  /** A further condition, which has parameters. */
  filter?: (sql: RecordSql) => Fragment
  /**
   * Reads only rows with one of these values in a column. Each value has its own range in the index. A list merges the
   * first rows of these ranges, because `= any(...)` would also scan the rows of other values.
   */
  columnValues?: { column: string; type: string; values: readonly string[] }
}

export interface PageRequest {
  tenantId: number
  window: PageWindow
}

/** A tenant whose records are counted: the whole list, or the records that were updated at or after an instant. */
export interface CountRequest {
  tenantId: number
  updatedSince: Instant | null
}

export interface RecordRequest {
  tenantId: number
  id: number
}

/**
 * Reads pages, counts and records of one table. Each method runs one statement, except `pages`; results are in the
 * order of the requests.
 */
export interface TenantTable<Row> {
  /** Reads pages in at most two statements: one for pages from the starts of lists, one for pages from the ends. */
  pages(sql: RecordSql, requests: readonly PageRequest[]): Promise<RecordPage<Row>[]>
  /** Counts the records of lists, independent of pages. */
  counts(sql: RecordSql, requests: readonly CountRequest[]): Promise<number[]>
  /** Reads records; null for a record that the tenant does not have (R20). */
  records(sql: RecordSql, requests: readonly RecordRequest[]): Promise<(Row | null)[]>
  /** Reads the first `limit` records of a range of one list, from its start. */
  chunk(sql: RecordSql, request: PageRequest): Promise<Chunk<Row>>
}

/** A range of one list, as SQL: parameters, or columns of the relation `wanted`. */
interface ListRange {
  tenant: Fragment | number
  lower: Fragment
  upper: Fragment
  size: Fragment | number
}

/** Creates the fragments that do not depend on the request or the pool. */
function createFragments<Row>(options: TenantTableOptions<Row>, sql: RecordSql) {
  const { name, table, row, only, filter, columnValues } = options
  const comment = (statement: string) => sql.unsafe(`/* ${name}.${statement} */`)
  const and = (condition: string | undefined) => {
    const plain = sql.unsafe(condition ? `and ${condition}` : '')
    return filter ? sql`${plain} and ${filter(sql)}` : plain
  }
  const values = columnValues && `'{${columnValues.values.join()}}'::${columnValues.type}[]`
  return {
    list: comment('list'),
    listOfTenants: comment('list_of_tenants'),
    chunk: comment('chunk'),
    count: comment('count'),
    find: comment('find'),
    findMany: comment('find_many'),
    columns: row.select(sql),
    table: sql.unsafe(table),
    only: and(columnValues ? `${columnValues.column} = any(${values})` : only),
    onlyListed: and(columnValues ? `${columnValues.column} = value` : only),
    values: values && sql.unsafe(`unnest(${values}) as value`),
    serverTime: lastStamp(sql),
    forward: sql.unsafe('order by updated_at, id'),
    backward: sql.unsafe('order by updated_at desc, id desc'),
  }
}

type Fragments = ReturnType<typeof createFragments>

/**
 * Creates the reader of a table. A single page or record, which REST reads most often, has a separate statement,
 * because the statement for several takes PostgreSQL some 200 µs more.
 */
export function createTenantTable<Row>(options: TenantTableOptions<Row>): TenantTable<Row> {
  // Created only once, because the creation of a fragment takes longer than its use.
  let created: Fragments | undefined
  function fragments(sql: RecordSql): Fragments {
    created ??= createFragments(options, sql)
    return created
  }

  /**
   * Returns a query for the rows of a range in the order of the list: from one range of the index, or merged from
   * several.
   */
  function rowsOf(sql: RecordSql, { tenant, lower, upper, size }: ListRange, isBackward: boolean): Fragment {
    const { columns, table, onlyListed, values, forward, backward } = fragments(sql)
    const order = isBackward ? backward : forward
    const rows = sql`
      select ${columns} as row, updated_at, id from ${table}
      where tenant_id = ${tenant} ${onlyListed} and (updated_at, id) > ${lower} and (updated_at, id) < ${upper}
      ${order} limit ${size}`
    return values ? sql`select row from ${values} cross join lateral (${rows}) range ${order} limit ${size}` : rows
  }

  /** Returns the range of a window. @param size the number of rows to read */
  function rangeOf(sql: RecordSql, { tenantId, window }: PageRequest, size: number): ListRange {
    const place = ({ updatedAt, id }: Position) => sql`(${updatedAt}::text::timestamptz, ${id}::bigint)`
    const { lower, upper } = boundsOf(window)
    return { tenant: tenantId, lower: place(lower), upper: place(upper), size }
  }

  /** Returns the SQL of two columns: the joined texts of a page's rows, and the stamp of the last step. */
  const pageOf = (sql: RecordSql, rows: Fragment): Fragment =>
    sql`(select string_agg(row, '') from (${rows}) page), ${fragments(sql).serverTime}`

  const toRecordPage = (window: PageWindow, [rows, stamp]: readonly (Buffer | null)[] = []): RecordPage<Row> => ({
    ...toPage(window, options.row.read(rows)),
    serverTime: toServerTime(stamp),
  })

  async function readPage(sql: RecordSql, request: PageRequest): Promise<RecordPage<Row>[]> {
    const { window } = request
    const rows = rowsOf(sql, rangeOf(sql, request, window.limit + 1), window.backward)
    const [found] = await sql`select ${fragments(sql).list} ${pageOf(sql, rows)}`.raw()
    return [toRecordPage(window, found)]
  }

  /** Reads one page per request, all from the same end of their lists. */
  async function readPages(
    sql: RecordSql,
    requests: readonly PageRequest[],
    backward: boolean,
  ): Promise<RecordPage<Row>[]> {
    const bounds = requests.map(({ window }) => boundsOf(window))
    const range: ListRange = {
      tenant: sql`wanted.tenant_id`,
      lower: sql`(wanted.lower_at, wanted.lower_id)`,
      upper: sql`(wanted.upper_at, wanted.upper_id)`,
      size: sql`wanted.size`,
    }
    const found = await sql`
      select ${fragments(sql).listOfTenants} ${pageOf(sql, rowsOf(sql, range, backward))}
      from unnest(${arrayText(requests.map(({ tenantId }) => tenantId))}::text::bigint[],
                  ${arrayText(bounds.map(({ lower }) => lower.updatedAt))}::text::timestamptz[],
                  ${arrayText(bounds.map(({ lower }) => lower.id))}::text::bigint[],
                  ${arrayText(bounds.map(({ upper }) => upper.updatedAt))}::text::timestamptz[],
                  ${arrayText(bounds.map(({ upper }) => upper.id))}::text::bigint[],
                  ${arrayText(requests.map(({ window }) => window.limit + 1))}::text::bigint[])
           with ordinality as wanted(tenant_id, lower_at, lower_id, upper_at, upper_id, size, place)
      order by place`.raw()
    return requests.map(({ window }, index) => toRecordPage(window, found[index]))
  }

  async function readChunk(sql: RecordSql, request: PageRequest): Promise<Chunk<Row>> {
    const { limit, backward } = request.window
    // Reads no additional row, because the next chunk shows whether more rows follow.
    const rows = rowsOf(sql, rangeOf(sql, request, limit), backward)
    const [found] = await sql`
      select ${fragments(sql).chunk} string_agg(row, ''), count(*) from (${rows}) chunk`.raw()
    const count = Number(found?.[1])
    return { count, mayHaveMore: count === limit, rows: size => options.row.readInSteps(found?.[0], size) }
  }

  /** Returns a subquery for the text of a record; null when there is no such record. */
  function recordOf(sql: RecordSql, tenantId: Fragment | number, id: Fragment | number): Fragment {
    const { columns, table, only } = fragments(sql)
    return sql`(select ${columns} from ${table} where tenant_id = ${tenantId} and id = ${id} ${only})`
  }

  const toRecord = (found: readonly (Buffer | null)[] | undefined): Row | null =>
    options.row.read(found?.[0])[0] ?? null

  function readRecord(sql: RecordSql, { tenantId, id }: RecordRequest): Promise<(Row | null)[]> {
    // `then` and not `await`, because `await` would wrap the driver's promise, which is not native, in another promise.
    return sql`select ${fragments(sql).find} ${recordOf(sql, tenantId, id)}`.raw().then(([found]) => [toRecord(found)])
  }

  async function readRecords(sql: RecordSql, requests: readonly RecordRequest[]): Promise<(Row | null)[]> {
    const found = await sql`
      select ${fragments(sql).findMany} ${recordOf(sql, sql`wanted.tenant_id`, sql`wanted.id`)}
      from unnest(${arrayText(requests.map(({ tenantId }) => tenantId))}::text::bigint[],
                  ${arrayText(requests.map(({ id }) => id))}::text::bigint[])
           with ordinality as wanted(tenant_id, id, place)
      order by place`.raw()
    return requests.map((_, index) => toRecord(found[index]))
  }

  return {
    pages(sql, requests) {
      const [first, second] = requests
      return first && !second
        ? readPage(sql, first)
        : readFromBothEnds(requests, (...asked) => readPages(sql, ...asked))
    },

    async counts(sql, requests) {
      const { count, table, only } = fragments(sql)
      const rows = await sql<{ count: number }[]>`
        select ${count} (
          select count(*) from ${table} where tenant_id = wanted.tenant_id ${only} and updated_at >= wanted.since
        ) as count
        from unnest(${arrayText(requests.map(({ tenantId }) => tenantId))}::text::bigint[],
                    ${arrayText(requests.map(({ updatedSince }) => updatedSince ?? beforeAll))}::text::timestamptz[])
             with ordinality as wanted(tenant_id, since, place)
        order by place`
      return rows.map(row => row.count)
    },

    records(sql, requests) {
      const [first, second] = requests
      return first && !second ? readRecord(sql, first) : readRecords(sql, requests)
    },

    chunk: readChunk,
  }
}
