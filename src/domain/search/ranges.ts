/** The ranges of indexes that filtered and ordered lists read, as parts of their statements. */
import type { Fragment, Sql } from '../../db/connect.ts'
import type { Instant } from '../record/instant.ts'
import type { PageWindow } from '../record/page.ts'
import type { IndexRange } from './field.ts'
import type { ColumnValues } from './order.ts'
import type { Search } from './search.ts'

/** A table of texts that are searched, apart from the entries. */
export interface TextTable {
  table: string
  /** The function that returns the texts of a record. */
  of: string
  /** The columns that are searched. */
  columns: string
}

/** The common parts of a table's statements. The texts are SQL of this service, never of a caller. */
export interface SearchedTable {
  /** The table of entries (`sql/0015`), or of records without entries. */
  table: string
  /** The table of the texts that are searched, with the ids of the entries; left out when the entries have them. */
  texts?: TextTable | undefined
  /** The column that a list is ordered by before `id` by default. */
  stamp: string
  /** A condition for the rows that are read. */
  only?: string | undefined
}

/** The values of a column with few values, each with a range of its own. */
export const valuesOf = (sql: Sql, columnValues: ColumnValues | null | undefined): Fragment =>
  sql.unsafe(columnValues ? `cross join unnest(array[${columnValues.values.join()}]) as column_value` : '')

/**
 * Writes the ranges of a search. Each row has `record_id`, `sort_key`, `missing` (whether it has no key) and `matches`:
 * the filter is a column and no condition, so that a limit bounds the rows that are read.
 */
export class Ranges {
  /** The order of a relation `page` of such rows. */
  readonly sorting: Fragment
  /** True when no row can lie between the cursors, or have the values of the filter. */
  readonly isEmpty: boolean
  readonly #sql: Sql
  readonly #table: SearchedTable
  readonly #search: Search
  readonly #window: PageWindow
  readonly #until: Instant | null
  /** True when keys are read from the highest to the lowest. */
  readonly #falling: boolean
  /** The rows with a key, and then those without one, as far as they can lie between the cursors. */
  readonly #segments: readonly ('present' | 'missing')[]

  /** @param until no row stamped from then on matches; null: there is none */
  constructor(sql: Sql, table: SearchedTable, search: Search, window: PageWindow, until: Instant | null) {
    const { after, before, backward } = window
    this.#sql = sql
    this.#table = table
    this.#search = search
    this.#window = window
    this.#until = until
    this.#falling = search.descending !== backward
    const direction = this.#falling ? 'desc' : ''
    this.sorting = sql.unsafe(
      `page.missing ${backward ? 'desc' : ''}, page.sort_key ${direction}, page.record_id ${direction}`,
    )
    const mayBePresent = after === null || after.key !== null
    const mayBeMissing = search.order.nullable && (before === null || before.key === null)
    this.#segments = [...(mayBePresent ? ['present' as const] : []), ...(mayBeMissing ? ['missing' as const] : [])]
    this.isEmpty = this.#segments.length === 0 || search.columnValues?.values.length === 0
  }

  /** Selects the first rows of the list, matching or not, of one tenant and one value of the order's column. */
  first(size: number | Fragment): Fragment {
    const sql = this.#sql
    const direction = sql.unsafe(this.#falling ? 'desc' : '')
    const [first = sql``, second] = this.#segments.map(segment => {
      const key = segment === 'present' ? sql`${sql.unsafe(this.#search.order.key)} ${direction},` : sql``
      return sql`(${this.#segment(segment)} order by ${key} id ${direction} ${this.#limit(size)})`
    })
    if (!second) return first
    return sql`select * from (${first} union all ${second}) page order by ${this.sorting} limit ${size}`
  }

  /** Selects the rows of an index range, matching or not, of the relation `owner` of tenants. */
  candidates({ order, where }: IndexRange, limit: number): Fragment {
    const sql = this.#sql
    const { nullable, key } = this.#search.order
    const columns = sql`${sql.unsafe(`id as record_id, ${key} as sort_key, ${nullable ? `${key} is null` : false} as missing`)},
      ${this.#matches()} as matches`
    return sql`
      select page.* from owner ${valuesOf(sql, order?.columnValues)} cross join lateral (
        select ${columns} from ${order ? this.#rows() : this.#rowsByText(where(sql))} and ${where(sql)}
        ${this.#withColumnValue(order?.columnValues)}
        ${sql.unsafe(order ? `order by ${order.key}` : '')} ${this.#limit(limit)}
      ) page limit ${limit}`
  }

  /** Selects the latest rows of each tenant, whole. */
  latest(ofEach: number, ofAll: number): Fragment {
    const sql = this.#sql
    const order = sql.unsafe(`${this.#table.stamp} desc, id desc`)
    return sql`
      select latest.* from owner cross join lateral (select * from ${this.#rows()} order by ${order} limit ${ofEach}) latest
      limit ${ofAll}`
  }

  /** The condition that a row of a relation `page` lies between the cursors. */
  between(): Fragment {
    const { after, before } = this.#window
    return this.#sql`${this.#side(after, '>')} and ${this.#side(before, '<')}`
  }

  /** The rows of a tenant, each with its texts if these are searched. `offset 0`: each is looked up by its key. */
  #rows(): Fragment {
    const sql = this.#sql
    const { table, texts } = this.#table
    const lookUp =
      texts && this.#search.words
        ? `cross join lateral (select ${texts.columns} from ${texts.table} where id = ${table}.id offset 0) text`
        : ''
    return sql`${sql.unsafe(`${table} ${lookUp}`)} where ${this.#ofTenant()}`
  }

  /** The rows of a tenant whose texts meet a condition, which the index of the texts serves. */
  #rowsByText(where: Fragment): Fragment {
    const sql = this.#sql
    const { table, texts } = this.#table
    if (!texts) return this.#rows()
    return sql`
      (select id as text_id, ${sql.unsafe(`${texts.columns} from ${texts.table}`)}
       where tenant_id = ${this.#tenant()} and ${where} offset 0) text
      cross join lateral (select * from ${sql.unsafe(table)} where id = text_id offset 0) entry
      where ${this.#ofTenant()}`
  }

  #ofTenant(): Fragment {
    const { only } = this.#table
    const listed = this.#sql.unsafe(only === undefined ? '' : `and ${only}`)
    return this.#sql`tenant_id = ${this.#tenant()} ${listed} and gateway.is_read(id)`
  }

  #tenant(): Fragment {
    const { tenantId, descendantsOf } = this.#search
    // A parameter when it is known: estimates are for that tenant then.
    return descendantsOf === null ? this.#sql`${tenantId}::bigint` : this.#sql`owner.owner_id`
  }

  /**
   * A limit that the planner does not know. It takes it as a part of the range, however few rows the average tenant has,
   * and so reads an index in its order instead of sorting all rows of a large tenant.
   */
  #limit(rows: number | Fragment): Fragment {
    return this.#sql`limit (select ${rows}::bigint)`
  }

  /** The condition that a row of a relation that is like the table is in the list, whenever it was stamped. */
  stillMatches(): Fragment {
    const sql = this.#sql
    return this.#conditions(sql.unsafe(this.#table.only ?? 'true'))
  }

  #matches(): Fragment {
    return this.#conditions(this.#stamped())
  }

  #conditions(first: Fragment): Fragment {
    const sql = this.#sql
    return this.#search.conditions.reduce((others, condition) => sql`${others} and ${condition(sql)}`, first)
  }

  /** The condition that a row is stamped before `until`. */
  #stamped(): Fragment {
    const sql = this.#sql
    if (this.#until === null) return sql`true`
    return sql`${sql.unsafe(this.#table.stamp)} < ${this.#until}::text::timestamptz`
  }

  #withColumnValue(columnValues: ColumnValues | null | undefined): Fragment {
    return this.#sql.unsafe(columnValues ? `and ${columnValues.column} = column_value` : '')
  }

  #segment(segment: 'present' | 'missing'): Fragment {
    const sql = this.#sql
    const { order, columnValues, ranges } = this.#search
    const { key, type, nullable } = order
    const { after, before } = this.#window
    const isMissing = segment === 'missing'
    const columns = sql.unsafe(
      `id as record_id, ${isMissing ? `null::${type}` : key} as sort_key, ${isMissing} as missing`,
    )
    const presence = sql.unsafe(isMissing ? `and ${key} is null` : nullable ? `and ${key} is not null` : '')
    // Its own index serves this part of the filter.
    const served = ranges.find(range => range.order?.key === key)
    return sql`
      select ${columns}, ${this.#matches()} as matches from ${this.#rows()} ${this.#withColumnValue(columnValues)} ${presence}
      ${served ? sql`and ${served.where(sql)}` : sql``}
      ${key === this.#table.stamp ? sql`and ${this.#stamped()}` : sql``}
      ${this.#beyond(after, '>', isMissing)} ${this.#beyond(before, '<', isMissing)}`
  }

  /** The condition that rows of a segment lie beyond a cursor; empty when the cursor is in the other segment. */
  #beyond(cursor: PageWindow['after'], side: '<' | '>', isMissing: boolean): Fragment {
    const sql = this.#sql
    const { order } = this.#search
    if (cursor === null || (cursor.key === null) !== isMissing) return sql``
    const operator = this.#operator(side)
    if (isMissing) return sql`and id ${operator} ${cursor.id}::bigint`
    const [key, type] = [sql.unsafe(order.key), sql.unsafe(order.type)]
    return sql`and (${key}, id) ${operator} (${cursor.key ?? null}::text::${type}, ${cursor.id}::bigint)`
  }

  #side(cursor: PageWindow['after'], side: '<' | '>'): Fragment {
    const sql = this.#sql
    if (cursor === null) return sql`true`
    const operator = this.#operator(side)
    const isLater = sql.unsafe(side === '>' ? 'missing' : 'not missing')
    if (cursor.key === null) {
      const isBeyond = sql`record_id ${operator} ${cursor.id}::bigint`
      return side === '>' ? sql`(missing and ${isBeyond})` : sql`(${isLater} or ${isBeyond})`
    }
    const type = sql.unsafe(this.#search.order.type)
    const key = sql`(${cursor.key ?? null}::text::${type}, ${cursor.id}::bigint)`
    const beyond = sql`(sort_key, record_id) ${operator} ${key}`
    return side === '>' ? sql`(${isLater} or ${beyond})` : sql`(not missing and ${beyond})`
  }

  #operator(side: '<' | '>'): Fragment {
    return this.#sql.unsafe(this.#search.descending ? (side === '<' ? '>' : '<') : side)
  }
}
