/** The rows that filtered and ordered lists read, as parts of their statements. */
import type { Fragment, Sql } from '../../db/connect.ts'
import type { PageWindow } from '../record/page.ts'
import type { Condition } from './field.ts'
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

/**
 * Writes the reads of a search. Each row has `record_id`, `sort_key`, `missing` (whether it has no key) and `matches`:
 * the filter is a column and no condition, so that a limit bounds the rows that are read. The tenants are the relation
 * `owner`.
 */
export class Ranges {
  /** The order of a relation `page` of such rows. */
  readonly sorting: Fragment
  readonly #sql: Sql
  readonly #table: SearchedTable
  readonly #search: Search
  readonly #window: PageWindow
  /** `desc` when keys are read from the highest to the lowest. */
  readonly #direction: Fragment

  constructor(sql: Sql, table: SearchedTable, search: Search, window: PageWindow) {
    this.#sql = sql
    this.#table = table
    this.#search = search
    this.#window = window
    const direction = search.descending !== window.backward ? 'desc' : ''
    this.#direction = sql.unsafe(direction)
    this.sorting = sql.unsafe(
      `page.missing ${window.backward ? 'desc' : ''}, page.sort_key ${direction}, page.record_id ${direction}`,
    )
  }

  /** Selects the first rows of each tenant's list, matching or not. */
  first(size: number): Fragment {
    const sql = this.#sql
    if (!this.#search.order.nullable) return this.#segment(false, size)
    return sql`
      select * from (${this.#segment(false, size)} union all ${this.#segment(true, size)}) page
      order by ${this.sorting} limit ${size}`
  }

  /** Selects the rows of all tenants, matching or not, that meet a condition which an index serves. */
  candidates(where: Condition, inTexts: boolean, limit: number): Fragment {
    const sql = this.#sql
    const { nullable, key } = this.#search.order
    return sql`
      select page.* from owner cross join lateral (
        select ${sql.unsafe(`id as record_id, ${key} as sort_key, ${nullable ? `${key} is null` : false} as missing`)},
          ${this.#matches()} as matches
        from ${inTexts ? this.#rowsByText(where(sql)) : this.#rows()} and ${where(sql)} ${this.#limit(limit)}
      ) page limit ${limit}`
  }

  /** Selects the rows of all tenants that meet a condition. */
  meeting(where: Condition): Fragment {
    const sql = this.#sql
    return sql`select from owner cross join lateral (select from ${this.#rows()} and ${where(sql)}) met`
  }

  /** Selects the latest rows of each tenant, whole. */
  latest(ofEach: number, ofAll: number): Fragment {
    const sql = this.#sql
    const order = sql.unsafe(`${this.#table.stamp} desc, id desc`)
    return sql`
      select latest.* from owner cross join lateral (select * from ${this.#rows()} order by ${order} limit ${ofEach}) latest
      limit ${ofAll}`
  }

  /** The condition that a row lies between the cursors. The planner leaves out a segment in which none can. */
  between(missing: Fragment, key: Fragment, id: Fragment): Fragment {
    const sql = this.#sql
    const { order, descending } = this.#search
    const beyond = (cursor: PageWindow['after'], isAfter: boolean) => {
      if (cursor === null) return sql`true`
      const operator = sql.unsafe(descending === isAfter ? '<' : '>')
      if (cursor.key == null) {
        const isBeyond = sql`${id} ${operator} ${cursor.id}::bigint`
        return isAfter ? sql`(${missing} and ${isBeyond})` : sql`(not ${missing} or ${isBeyond})`
      }
      const place = sql`(${cursor.key}::text::${sql.unsafe(order.type)}, ${cursor.id}::bigint)`
      const isBeyond = sql`(${key}, ${id}) ${operator} ${place}`
      return isAfter ? sql`(${missing} or ${isBeyond})` : sql`(not ${missing} and ${isBeyond})`
    }
    return sql`${beyond(this.#window.after, true)} and ${beyond(this.#window.before, false)}`
  }

  /** Joins a record if its present entry is in the list, whenever it was stamped. @param records their table */
  present(records: string): Fragment {
    const sql = this.#sql
    const { texts, only = 'true' } = this.#table
    const joined =
      texts && this.#search.words ? `cross join ${texts.of}(${records}) text (text_id, text_tenant_id)` : ''
    return sql`
      cross join lateral (select from ${sql.unsafe(`gateway.entry_of(${records}) ${joined}`)}
                          where ${this.#conditions(sql.unsafe(only))}) present`
  }

  /** The first rows with a key, or those without one. */
  #segment(isMissing: boolean, size: number): Fragment {
    const sql = this.#sql
    const { key, type, nullable } = this.#search.order
    const direction = this.#direction
    const columns = sql.unsafe(
      `id as record_id, ${isMissing ? `null::${type}` : key} as sort_key, ${isMissing} as missing`,
    )
    const present = sql.unsafe(nullable ? `and ${key} is ${isMissing ? '' : 'not'} null` : '')
    const served = this.#search.served.map(condition => sql`and ${condition(sql)}`)
    return sql`(
      select ${columns}, ${this.#matches()} as matches from ${this.#rows()} ${present}
      ${served.reduce((one, other) => sql`${one} ${other}`, sql``)}
      ${key === this.#table.stamp ? sql`and ${this.#stamped()}` : sql``}
      and ${this.between(sql.unsafe(String(isMissing)), sql.unsafe(key), sql`id`)}
      order by ${isMissing ? sql`` : sql`${sql.unsafe(key)} ${direction},`} id ${direction} ${this.#limit(size)})`
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
  #limit(rows: number): Fragment {
    return this.#sql`limit (select ${rows}::bigint)`
  }

  #matches(): Fragment {
    return this.#conditions(this.#stamped())
  }

  #conditions(first: Fragment): Fragment {
    const sql = this.#sql
    return this.#search.conditions.reduce((others, condition) => sql`${others} and ${condition(sql)}`, first)
  }

  /** The condition that a row is stamped before the end of the window. */
  #stamped(): Fragment {
    const sql = this.#sql
    const { until } = this.#window
    return until === null ? sql`true` : sql`${sql.unsafe(this.#table.stamp)} < ${until}::text::timestamptz`
  }
}
