import { arrayText, type Fragment, type Sql } from '../db/connect.ts'
import type { RowCodec } from '../db/row-codec.ts'
import { beforeAll, type Instant } from './instant.ts'
import { type Page, type Range, toPage, within } from './page.ts'

/** Records of a kind that tenants hold, each its own (R20). The texts are SQL, and none of a caller's. */
interface Kind<Row> {
  /** What its statements are called after. */
  name: string
  table: string
  row: RowCodec<Row>
  /** What a list is ordered by before `id`, as its index has it; `updated_at` when left out. */
  stamp?: string
  /** What else a row of the table must be. */
  only?: string
  /** The same, where it has parameters. */
  filter?: (sql: Sql) => Fragment
  /**
   * What a column must be one of. An index leads to each value with a range of its own: a list is made of the starts of
   * these, so that rows of other values are not passed along.
   */
  among?: { column: string; values: readonly string[] }
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
export interface TenantTable<Row> {
  pages(sql: Sql, wanted: readonly PageWanted[]): Promise<Page<Row>[]>
  /** @returns how many records the whole lists hold */
  counts(sql: Sql, wanted: readonly CountWanted[]): Promise<number[]>
  /** @returns null where the tenant has no such record (R20) */
  records(sql: Sql, wanted: readonly RecordWanted[]): Promise<(Row | null)[]>
}

/**
 * What is always the same in the statements. Made once: to make a piece costs more than to send it, and it does not
 * matter of which pool it is.
 */
function piecesOf<Row>({ name, table, row, stamp = 'updated_at', only, filter, among }: Kind<Row>, sql: Sql) {
  const named = (what: string) => sql.unsafe(`/* ${name}.${what} */`)
  const and = (condition: string | undefined) => {
    const plain = sql.unsafe(condition ? `and ${condition}` : '')
    return filter ? sql`${plain} and ${filter(sql)}` : plain
  }
  const values = among && `'{${among.values.join()}}'::text[]`
  return {
    list: named('list'),
    listOfTenants: named('list_of_tenants'),
    count: named('count'),
    find: named('find'),
    findMany: named('find_many'),
    columns: row.select(sql),
    table: sql.unsafe(table),
    only: and(among ? `${among.column} = any(${values})` : only),
    onlyListed: and(among ? `${among.column} = value` : only),
    values: values && sql.unsafe(`unnest(${values}) as value`),
    stamp: sql.unsafe(stamp),
    forward: sql.unsafe(''),
    backward: sql.unsafe('desc'),
  }
}

type Pieces = ReturnType<typeof piecesOf>

/** From which end of a list rows are wanted, and how many. */
interface Ends {
  backward: boolean
  size: () => Fragment
}

/**
 * One page and one record, which are what REST asks all day, have statements of their own: those for many cost
 * PostgreSQL some 200 µs more.
 */
export function tenantTable<Row>(kind: Kind<Row>): TenantTable<Row> {
  let made: Pieces | undefined
  function pieces(sql: Sql): Pieces {
    made ??= piecesOf(kind, sql)
    return made
  }

  /** Rows of a list in its order: those of one range of the index, or the first of several. */
  function listed(sql: Sql, { values, forward, backward }: Pieces, range: Fragment, ends: Ends): Fragment {
    if (!values) return range
    const direction = ends.backward ? backward : forward
    return sql`
      select row from ${values} cross join lateral (${range}) range
      order by stamp ${direction}, id ${direction} limit ${ends.size()}`
  }

  async function readPage(sql: Sql, { tenantId, range }: PageWanted): Promise<Page<Row>[]> {
    const all = pieces(sql)
    const { list, columns, table, onlyListed, stamp, forward, backward } = all
    const direction = range.backward ? backward : forward
    const rows = sql`
      select ${columns} as row, ${stamp} as stamp, id from ${table}
      where tenant_id = ${tenantId} ${onlyListed} and ${within(sql, range, stamp, direction)}`
    const [found] = await sql`
      select ${list} string_agg(row, '') from (
        ${listed(sql, all, rows, { backward: range.backward, size: () => sql`${range.limit + 1}` })}
      ) page`.raw()
    return [toPage(range, kind.row.read(found?.[0]))]
  }

  /** For each that is wanted, one range of the list's index; all of them from the same end. */
  async function readPages(sql: Sql, wanted: readonly PageWanted[], backward: boolean): Promise<Page<Row>[]> {
    const all = pieces(sql)
    const { listOfTenants, columns, table, onlyListed, stamp } = all
    const direction = backward ? all.backward : all.forward
    const ranges = wanted.map(({ range }) => range)
    const rows = sql`
      select ${columns} as row, ${stamp} as stamp, id from ${table}
      where tenant_id = wanted.tenant_id ${onlyListed}
        and (${stamp}, id) > (wanted.lower_at, wanted.lower_id)
        and (${stamp}, id) < (wanted.upper_at, wanted.upper_id)
      order by ${stamp} ${direction}, id ${direction} limit wanted.size`
    const found = await sql`
      select ${listOfTenants} (
        select string_agg(row, '') from (
          ${listed(sql, all, rows, { backward, size: () => sql`wanted.size` })}
        ) page
      )
      from unnest(${arrayText(wanted.map(({ tenantId }) => tenantId))}::text::bigint[],
                  ${arrayText(ranges.map(({ lower }) => lower.updatedAt))}::text::timestamptz[],
                  ${arrayText(ranges.map(({ lower }) => lower.id))}::text::bigint[],
                  ${arrayText(ranges.map(({ upper }) => upper.updatedAt))}::text::timestamptz[],
                  ${arrayText(ranges.map(({ upper }) => upper.id))}::text::bigint[],
                  ${arrayText(ranges.map(({ limit }) => limit + 1))}::text::bigint[])
           with ordinality as wanted(tenant_id, lower_at, lower_id, upper_at, upper_id, size, place)
      order by place`.raw()
    return ranges.map((range, index) => toPage(range, kind.row.read(found[index]?.[0])))
  }

  /** Those from one end of their lists, and those from the other. */
  async function readPagesOfBothEnds(sql: Sql, wanted: readonly PageWanted[]): Promise<Page<Row>[]> {
    const pages = new Array<Page<Row>>(wanted.length)
    const read = async (backward: boolean) => {
      const places = wanted.flatMap(({ range }, place) => (range.backward === backward ? [place] : []))
      if (places.length === 0) return
      const found = await readPages(
        sql,
        wanted.filter(({ range }) => range.backward === backward),
        backward,
      )
      for (const [index, page] of found.entries()) pages[places[index] ?? -1] = page
    }
    await Promise.all([read(false), read(true)])
    return pages
  }

  function readRecord(sql: Sql, { tenantId, id }: RecordWanted): Promise<(Row | null)[]> {
    const { find, columns, table, only } = pieces(sql)
    // The driver's promises are of a class of their own: `await` would wrap each in another.
    return sql`
      select ${find} ${columns} from ${table} where tenant_id = ${tenantId} and id = ${id} ${only}`
      .raw()
      .then(([found]) => [kind.row.read(found?.[0])[0] ?? null])
  }

  async function readRecords(sql: Sql, wanted: readonly RecordWanted[]): Promise<(Row | null)[]> {
    const { findMany, columns, table, only } = pieces(sql)
    const found = await sql`
      select ${findMany} (
        select ${columns} from ${table} where tenant_id = wanted.tenant_id and id = wanted.id ${only}
      )
      from unnest(${arrayText(wanted.map(({ tenantId }) => tenantId))}::text::bigint[],
                  ${arrayText(wanted.map(({ id }) => id))}::text::bigint[])
           with ordinality as wanted(tenant_id, id, place)
      order by place`.raw()
    return wanted.map((_, index) => kind.row.read(found[index]?.[0])[0] ?? null)
  }

  return {
    pages(sql, wanted) {
      const [first, second] = wanted
      return first && !second ? readPage(sql, first) : readPagesOfBothEnds(sql, wanted)
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

    records(sql, wanted) {
      const [first, second] = wanted
      return first && !second ? readRecord(sql, first) : readRecords(sql, wanted)
    },
  }
}
