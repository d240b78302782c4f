import { arrayText, type Sql } from '../db/connect.ts'
import type { Packed } from '../db/packed.ts'
import { beforeAll, type Instant } from './instant.ts'
import { type Page, type Range, toPage, within } from './page.ts'

/** Records of a kind that tenants hold, each its own (R20). */
interface Kind<Row> {
  /** What its statements are called after. */
  name: string
  table: string
  row: Packed<Row>
  /** What a list is ordered by before `id`, as its index has it; `updated_at` when left out. */
  stamp?: string
  /** What else a row of the table must be, as SQL. */
  only?: string
}

/** A page of a tenant's list. */
export interface PageWanted {
  tenantId: number
  range: Range
}

/** The length of a tenant's list. */
export interface CountWanted {
  tenantId: number
  updatedSince: Instant | null
}

/** A record of a tenant. */
export interface RecordWanted {
  tenantId: number
  id: number
}

/** Reads records of a kind: for many tenants as for one, in one statement. Answers come in the order of what is wanted. */
export interface Holding<Row> {
  pages(sql: Sql, wanted: readonly PageWanted[]): Promise<Page<Row>[]>
  /** @returns how many records the whole lists hold */
  counts(sql: Sql, wanted: readonly CountWanted[]): Promise<number[]>
  /** @returns null where the tenant has no such record (R20) */
  records(sql: Sql, wanted: readonly RecordWanted[]): Promise<(Row | null)[]>
}

/** What is always the same in the statements. Made once: to make a piece costs more than to send it, and it is of no pool. */
function piecesOf<Row>({ name, table, row, stamp = 'updated_at', only }: Kind<Row>, sql: Sql) {
  const named = (what: string) => sql.unsafe(`/* ${name}.${what} */`)
  return {
    list: named('list'),
    listOfTenants: named('list_of_tenants'),
    count: named('count'),
    find: named('find'),
    findMany: named('find_many'),
    columns: row.select(sql),
    table: sql.unsafe(table),
    only: sql.unsafe(only ? `and ${only}` : ''),
    stamp: sql.unsafe(stamp),
  }
}

/**
 * One page and one record, which are what REST asks all day, have statements of their own: those for many cost
 * PostgreSQL some 200 µs more.
 */
export function holding<Row>(kind: Kind<Row>): Holding<Row> {
  let made: ReturnType<typeof piecesOf<Row>> | undefined
  const pieces = (sql: Sql) => {
    made ??= piecesOf(kind, sql)
    return made
  }

  async function readPage(sql: Sql, { tenantId, range }: PageWanted): Promise<Page<Row>> {
    const { list, columns, table, only, stamp } = pieces(sql)
    const found = await sql<{ row: string }[]>`
      select ${list} ${columns} as row from ${table}
      where tenant_id = ${tenantId} ${only} and ${within(sql, range, stamp)}`
    return toPage(range, kind.row, found)
  }

  /**
   * For each that is wanted, one range of the list's index, from one end; nothing for those from the other. The rows come
   * in their order, but only who asks for it may rely on it: there is next to nothing left to sort.
   */
  function readPages(sql: Sql, wanted: readonly PageWanted[], backward: boolean) {
    const { listOfTenants, columns, table, only, stamp } = pieces(sql)
    const direction = backward ? sql`desc` : sql``
    const ranges = wanted.map(({ range }) => range)
    return sql<{ place: number; row: string }[]>`
      select ${listOfTenants} wanted.place, page.row
      from unnest(${arrayText(wanted.map(({ tenantId }) => tenantId))}::text::bigint[],
                  ${arrayText(ranges.map(({ lower }) => lower.updatedAt))}::text::timestamptz[],
                  ${arrayText(ranges.map(({ lower }) => lower.id))}::text::bigint[],
                  ${arrayText(ranges.map(({ upper }) => upper.updatedAt))}::text::timestamptz[],
                  ${arrayText(ranges.map(({ upper }) => upper.id))}::text::bigint[],
                  ${arrayText(ranges.map(({ limit }) => limit + 1))}::text::bigint[],
                  ${arrayText(ranges.map(range => range.backward))}::text::boolean[])
           with ordinality as wanted(tenant_id, lower_at, lower_id, upper_at, upper_id, size, backward, place)
      cross join lateral (
        select ${columns} as row, ${stamp} as stamp, id from ${table}
        where tenant_id = wanted.tenant_id ${only}
          and (${stamp}, id) > (wanted.lower_at, wanted.lower_id)
          and (${stamp}, id) < (wanted.upper_at, wanted.upper_id)
        order by ${stamp} ${direction}, id ${direction} limit wanted.size
      ) page
      where ${backward ? sql`` : sql`not`} wanted.backward
      order by wanted.place, page.stamp ${direction}, page.id ${direction}`
  }

  async function readRecord(sql: Sql, { tenantId, id }: RecordWanted): Promise<Row | null> {
    const { find, columns, table, only } = pieces(sql)
    const [found] = await sql<{ row: string }[]>`
      select ${find} ${columns} as row from ${table} where tenant_id = ${tenantId} and id = ${id} ${only}`
    return found ? kind.row.read(found.row) : null
  }

  return {
    async pages(sql, wanted) {
      const [first, second] = wanted
      if (first && !second) return [await readPage(sql, first)]
      const directions = [...new Set(wanted.map(({ range }) => range.backward))]
      const found: { row: string }[][] = wanted.map(() => [])
      for (const rows of await Promise.all(directions.map(backward => readPages(sql, wanted, backward)))) {
        for (const row of rows) found[row.place - 1]?.push(row)
      }
      return wanted.map(({ range }, index) => toPage(range, kind.row, found[index] ?? []))
    },

    async counts(sql, wanted) {
      const { count, table, only, stamp } = pieces(sql)
      const rows = await sql<{ count: number }[]>`
        select ${count} (
          select count(*) from ${table} where tenant_id = wanted.tenant_id ${only} and ${stamp} >= wanted.since
        ) as count
        from unnest(${arrayText(wanted.map(({ tenantId }) => tenantId))}::text::bigint[],
                    ${arrayText(wanted.map(({ updatedSince }) => updatedSince ?? beforeAll))}::text::timestamptz[])
             with ordinality as wanted(tenant_id, since, place)
        order by place`
      return rows.map(row => row.count)
    },

    async records(sql, wanted) {
      const [first, second] = wanted
      if (first && !second) return [await readRecord(sql, first)]
      const { findMany, columns, table, only } = pieces(sql)
      const rows = await sql<{ place: number; row: string }[]>`
        select ${findMany} place, ${columns} as row
        from unnest(${arrayText(wanted.map(({ tenantId }) => tenantId))}::text::bigint[],
                    ${arrayText(wanted.map(({ id }) => id))}::text::bigint[])
             with ordinality as wanted(tenant_id, id, place)
        join ${table} using (tenant_id, id) where true ${only}`
      const found = new Map(rows.map(({ place, row }) => [place, kind.row.read(row)]))
      return wanted.map((_, index) => found.get(index + 1) ?? null)
    },
  }
}
