/** The ranges of a filtered or ordered list, as parts of its statement. */
import type { Fragment, Sql } from '../../db/connect.ts'
import type { Instant } from '../instant.ts'
import type { PageWindow } from '../page.ts'
import type { Search } from './search.ts'

/** What the statements of a table have in common. The texts are SQL of this service, never of a caller. */
export interface SearchedTable {
  table: string
  /** What a list is ordered by before `id` by default. */
  stamp: string
  /** A condition for the rows that are read. */
  only?: string | undefined
}

/** The conditions on rows of one tenant. The id is a parameter when it is known: estimates are for that tenant then. */
export function matching(
  sql: Sql,
  { stamp, only }: SearchedTable,
  { tenantId, descendantsOf, conditions }: Search,
  updatedSince: Instant | null,
): Fragment {
  const tenant = descendantsOf === null ? sql`${tenantId}::bigint` : sql`owner.owner_id`
  const since = updatedSince === null ? sql`` : sql`and ${sql.unsafe(stamp)} >= ${updatedSince}::text::timestamptz`
  return conditions.reduce(
    (others, condition) => sql`${others} and ${condition(sql)}`,
    sql`tenant_id = ${tenant} ${sql.unsafe(only === undefined ? '' : `and ${only}`)} ${since}`,
  )
}

/** The page that is read of a list, and how. */
export interface RangesOptions {
  search: Search
  window: PageWindow
  /** No row stamped from then on is read. */
  watermark: Instant
}

/** Writes the ranges of a page of a list. */
export class Ranges {
  /** The order of rows of a relation `page` with the columns `record_id`, `sort_key`, and `missing` for those without. */
  readonly sorting: Fragment
  /** Whether no row can lie between the cursors, or have the values of the filter. */
  readonly isEmpty: boolean
  readonly #sql: Sql
  readonly #table: SearchedTable
  readonly #options: RangesOptions
  /** Whether keys are read from the highest to the lowest. */
  readonly #falling: boolean
  /** The rows with a key, and then those without one, as far as they can lie between the cursors. */
  readonly #segments: readonly ('present' | 'missing')[]

  constructor(sql: Sql, table: SearchedTable, options: RangesOptions) {
    const { search, window } = options
    const { after, before, backward } = window
    this.#sql = sql
    this.#table = table
    this.#options = options
    this.#falling = search.descending !== backward
    const direction = this.#falling ? 'desc' : ''
    this.sorting = sql.unsafe(
      `page.missing ${backward ? 'desc' : ''}, page.sort_key ${direction}, page.record_id ${direction}`,
    )
    const mayBePresent = after === null || after.key !== null
    const mayBeMissing = search.order.nullable && (before === null || before.key === null)
    this.#segments = [...(mayBePresent ? ['present' as const] : []), ...(mayBeMissing ? ['missing' as const] : [])]
    this.isEmpty = this.#segments.length === 0 || search.among?.values.length === 0
  }

  /** Selects the first rows of the range of one tenant and of one value of the order's column with few values. */
  first(size: number): Fragment {
    const sql = this.#sql
    const direction = sql.unsafe(this.#falling ? 'desc' : '')
    return this.#union(segment => {
      const key = segment === 'present' ? sql`${sql.unsafe(this.#options.search.order.key)} ${direction},` : sql``
      return sql`(${this.#rows(segment, sql``)} ${this.#among()} order by ${key} id ${direction} limit ${size})`
    })
  }

  /** Selects rows of all tenants in any order. */
  any(): Fragment {
    return this.#union(segment => this.#rows(segment, this.#sql`owner cross join`))
  }

  #union(write: (segment: 'present' | 'missing') => Fragment): Fragment {
    const [first = this.#sql``, ...others] = this.#segments.map(write)
    return others.reduce((all, part) => this.#sql`${all} union all ${part}`, first)
  }

  #among(): Fragment {
    const { among } = this.#options.search
    return this.#sql.unsafe(among ? `and ${among.column} = among` : '')
  }

  #rows(segment: 'present' | 'missing', from: Fragment): Fragment {
    const sql = this.#sql
    const { search, window, watermark } = this.#options
    const { key, type, nullable } = search.order
    const isMissing = segment === 'missing'
    const columns = sql.unsafe(
      `id as record_id, ${isMissing ? `null::${type}` : key} as sort_key, ${isMissing} as missing`,
    )
    const presence = sql.unsafe(isMissing ? `and ${key} is null` : nullable ? `and ${key} is not null` : '')
    return sql`
      select ${columns} from ${from} ${sql.unsafe(this.#table.table)}
      where ${matching(sql, this.#table, search, window.updatedSince)}
        and ${sql.unsafe(this.#table.stamp)} < ${watermark}::text::timestamptz
        ${presence} ${this.#beyond(window.after, '>', isMissing)} ${this.#beyond(window.before, '<', isMissing)}`
  }

  /** The condition that rows lie beyond a cursor, when it is one among rows of this kind. */
  #beyond(cursor: PageWindow['after'], side: '<' | '>', isMissing: boolean): Fragment {
    const sql = this.#sql
    const { order, descending } = this.#options.search
    if (cursor === null || (cursor.key === null) !== isMissing) return sql``
    const operator = sql.unsafe(descending ? (side === '<' ? '>' : '<') : side)
    if (isMissing) return sql`and id ${operator} ${cursor.id}::bigint`
    const [key, type] = [sql.unsafe(order.key), sql.unsafe(order.type)]
    return sql`and (${key}, id) ${operator} (${cursor.key ?? null}::text::${type}, ${cursor.id}::bigint)`
  }
}
