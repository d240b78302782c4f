import type { RowCodec } from '../../db/row/row-codec.ts'
import { arrayText, type Fragment, type RecordSql } from '../../db/sql.ts'
import { boundsOf, type PageWindow, type RecordPage, readFromBothEnds, toPage, within } from '../paging/page.ts'
import { lastStamp, toServerTime } from '../sync/server-time.ts'
import { beforeAll, type Instant } from '../value/instant.ts'
import type { Chunk } from './chunk.ts'

/** A table whose rows belong to tenants (R20). The texts are SQL of this service, never of a caller. */
interface TenantTableOptions<Row> {
  /** The first part of the names of its statements: `voucher` for `voucher.list`. */
  name: string
  table: string
  row: RowCodec<Row>
  /** A condition for the rows that are read. */
  only?: string | undefined
  /** A condition that has parameters. */
  filter?: (sql: RecordSql) => Fragment
  /**
   * The values of a column that are read. Each value has a range of its own in the index: a list merges the first rows
   * of these ranges, because `= any(...)` would scan past rows of other values.
   */
  columnValues?: { column: string; type: string; values: readonly string[] }
}

export interface PageRequest {
  tenantId: number
  window: PageWindow
}

/** The length of a tenant's list; of its records updated at or after an instant, when one is given. */
export interface CountRequest {
  tenantId: number
  updatedSince: Instant | null
}

export interface RecordRequest {
  tenantId: number
  id: number
}

/** Reads pages, counts and records of one table. Each method runs one statement; results are in the order of requests. */
export interface TenantTable<Row> {
  /** Reads pages in at most two statements: one for pages from the starts of lists, one for pages from the ends. */
  pages(sql: RecordSql, requests: readonly PageRequest[]): Promise<RecordPage<Row>[]>
  /** Counts the records of whole lists. */
  counts(sql: RecordSql, requests: readonly CountRequest[]): Promise<number[]>
  /** Reads records; null where the tenant has no such record (R20). */
  records(sql: RecordSql, requests: readonly RecordRequest[]): Promise<(Row | null)[]>
  /** Reads the first `limit` records of a range of one list, from its start. */
  chunk(sql: RecordSql, request: PageRequest): Promise<Chunk<Row>>
}

/** The fragments that are the same in each run of the statements. They do not depend on the pool. */
function fragmentsOf<Row>(options: TenantTableOptions<Row>, sql: RecordSql) {
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
    forward: sql.unsafe(''),
    backward: sql.unsafe('desc'),
  }
}

type Fragments = ReturnType<typeof fragmentsOf>

/**
 * Creates the reader of a table. Reads of one page or one record, the most frequent of REST, have their own statements:
 * the statements for many cost PostgreSQL some 200 µs more.
 */
export function tenantTable<Row>(options: TenantTableOptions<Row>): TenantTable<Row> {
  // Created once: creating a fragment costs more than sending it.
  let created: Fragments | undefined
  function fragments(sql: RecordSql): Fragments {
    created ??= fragmentsOf(options, sql)
    return created
  }

  /** Selects rows of a list in its order, from one range of the index or merged from several. */
  function listed(sql: RecordSql, range: Fragment, direction: Fragment, size: Fragment | number): Fragment {
    const { values } = fragments(sql)
    if (!values) return range
    return sql`
      select row from ${values} cross join lateral (${range}) range
      order by updated_at ${direction}, id ${direction} limit ${size}`
  }

  /** Selects the rows of a window, and one row more. */
  function rowsOf(sql: RecordSql, { tenantId, window }: PageRequest): Fragment {
    const { columns, table, onlyListed, forward, backward } = fragments(sql)
    const direction = window.backward ? backward : forward
    const rows = sql`
      select ${columns} as row, updated_at, id from ${table}
      where tenant_id = ${tenantId} ${onlyListed} and ${within(sql, window, direction)}`
    return listed(sql, rows, direction, window.limit + 1)
  }

  const toRecordPage = (window: PageWindow, [rows, stamp]: readonly (Buffer | null)[] = []): RecordPage<Row> => ({
    ...toPage(window, options.row.read(rows)),
    serverTime: toServerTime(stamp),
  })

  async function readPage(sql: RecordSql, request: PageRequest): Promise<RecordPage<Row>[]> {
    const { list, serverTime } = fragments(sql)
    const [found] = await sql`
      select ${list} string_agg(row, ''), ${serverTime} from (${rowsOf(sql, request)}) page`.raw()
    return [toRecordPage(request.window, found)]
  }

  /** Reads a range of the list's index for each request; all of them from the same end. */
  async function readPages(
    sql: RecordSql,
    requests: readonly PageRequest[],
    backward: boolean,
  ): Promise<RecordPage<Row>[]> {
    const all = fragments(sql)
    const { listOfTenants, columns, table, onlyListed, serverTime } = all
    const direction = backward ? all.backward : all.forward
    const bounds = requests.map(({ window }) => boundsOf(window))
    const rows = sql`
      select ${columns} as row, updated_at, id from ${table}
      where tenant_id = wanted.tenant_id ${onlyListed}
        and (updated_at, id) > (wanted.lower_at, wanted.lower_id)
        and (updated_at, id) < (wanted.upper_at, wanted.upper_id)
      order by updated_at ${direction}, id ${direction} limit wanted.size`
    const found = await sql`
      select ${listOfTenants} (
        select string_agg(row, '') from (
          ${listed(sql, rows, direction, sql`wanted.size`)}
        ) page
      ), ${serverTime}
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

  async function readChunk(sql: RecordSql, { tenantId, window }: PageRequest): Promise<Chunk<Row>> {
    // Reads no extra row: the next chunk shows whether more rows follow.
    const exact = { ...window, limit: window.limit - 1 }
    const [found] = await sql`
      select ${fragments(sql).chunk} string_agg(row, ''), count(*) from (${rowsOf(sql, { tenantId, window: exact })}) chunk`.raw()
    const count = Number(found?.[1])
    return { count, mayHaveMore: count === window.limit, rows: size => options.row.readInSteps(found?.[0], size) }
  }

  function readRecord(sql: RecordSql, { tenantId, id }: RecordRequest): Promise<(Row | null)[]> {
    const { find, columns, table, only } = fragments(sql)
    // The driver's promises are not native: `await` would wrap each in another promise.
    return sql`
      select ${find} ${columns} from ${table} where tenant_id = ${tenantId} and id = ${id} ${only}`
      .raw()
      .then(([found]) => [options.row.read(found?.[0])[0] ?? null])
  }

  async function readRecords(sql: RecordSql, requests: readonly RecordRequest[]): Promise<(Row | null)[]> {
    const { findMany, columns, table, only } = fragments(sql)
    const found = await sql`
      select ${findMany} (
        select ${columns} from ${table} where tenant_id = wanted.tenant_id and id = wanted.id ${only}
      )
      from unnest(${arrayText(requests.map(({ tenantId }) => tenantId))}::text::bigint[],
                  ${arrayText(requests.map(({ id }) => id))}::text::bigint[])
           with ordinality as wanted(tenant_id, id, place)
      order by place`.raw()
    return requests.map((_, index) => options.row.read(found[index]?.[0])[0] ?? null)
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
