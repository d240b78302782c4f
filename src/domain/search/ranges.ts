/** Builds the queries for the rows of filtered and ordered lists, as parts of statements. */
import type { Fragment, RecordSql } from '../../db/sql.ts'
import type { PageWindow } from '../paging/page.ts'
import { type Condition, parseOnce } from './field.ts'
import type { Search } from './search.ts'

/** A table, separate from the records, with the rarely changing keys by which records are found. */
export interface EntryTable {
  table: string
  /** The keys for which this table has an index. */
  keys: readonly string[]
  /** The columns of the trigram index, which only this table has. */
  texts: string
  /** The columns that searches compare and that only the table of records has. */
  others: string
}

/** The table that a search reads. All texts are SQL of this service, and contain no input of a caller. */
export interface SearchedTable {
  table: string
  /** Undefined when the table of records has all indexes and texts. */
  entries?: EntryTable | undefined
  /** A condition for the rows that a search may read. */
  only?: string | undefined
}

/** Returns a join by id. `offset 0` prevents any other plan of the join. */
const lookUp = (columns: string, table: string, id: string) =>
  `
  cross join lateral (select ${columns} from ${table} where id = ${id} offset 0) other`

/**
 * Builds the queries of a search. Each row has `record_id`, `sort_key`, `missing` (true without a key), `matches`, and
 * `is_end` (true when the rest of its list was not read). The filter is the column `matches` and no condition, so that
 * a limit applies to the rows that are read. The statement must have the relation `owner` of the tenants.
 */
export class Ranges {
  /** The `order by` of the rows, including the rows without a key. */
  readonly sorting: Fragment
  /** ` desc` when keys are read from the highest to the lowest; otherwise empty. */
  readonly #direction: string

  constructor(
    private readonly sql: RecordSql,
    private readonly table: SearchedTable,
    private readonly search: Search,
    private readonly window: PageWindow,
  ) {
    this.#direction = search.descending === window.backward ? '' : ' desc'
    const missing = `missing${window.backward ? ' desc' : ''}, `
    this.sorting = sql.unsafe(`order by ${search.order.nullable ? missing : ''}${this.#order}`)
  }

  get #order(): string {
    return `sort_key${this.#direction}, record_id${this.#direction}`
  }

  /**
   * Returns a query for the first matching rows of each tenant's list, and for the row at which the read of the list
   * ended.
   *
   * @param depth the maximum number of rows to read per list
   */
  first(owners: Fragment, depth: number): Fragment {
    const sql = this.sql
    const [first, second] = this.window.backward ? [true, false] : [false, true]
    const list = this.search.order.nullable
      ? sql`
        with first_segment as materialized (${this.#segment(first, depth)})
        select * from first_segment
        union all
        select * from (${this.#segment(second, depth)}) others
        where (select count(*) < ${this.#size} and not coalesce(bool_or(is_end), false) from first_segment)`
      : this.#segment(false, depth)
    return sql`
      select owner.*, page.* from ${owners} cross join lateral (${list}
      ) page`
  }

  /**
   * Returns a query for the first rows with a key, or for the first rows without a key. The read ends when the page is
   * full.
   */
  #segment(isMissing: boolean, depth: number): Fragment {
    const sql = this.sql
    const { key, nullable } = this.search.order
    const missing = sql.unsafe(String(isMissing))
    const present = sql.unsafe(nullable ? `and ${key} is ${isMissing ? '' : 'not '}null` : '')
    const served = this.search.served ? sql`and ${this.search.served(sql)}` : sql``
    // `over ()` numbers the rows in the order of the subquery, and the outer query keeps this order.
    return sql`
      select * from (
        select *, row_number() over () = ${depth} as is_end from (
          select id as record_id, ${sql.unsafe(key)} as sort_key, ${missing} as missing,
          ${this.#matches(key)} as matches
          ${this.#rows(key)} ${present}
          ${served}
          ${this.between(missing, sql.unsafe(key), sql`id`)}
          order by ${sql.unsafe(this.#order)} ${this.#limit(depth)}
        ) list
      ) numbered
      where matches or is_end limit ${this.#size}`
  }

  /**
   * Returns a query for the rows of all tenants that meet a condition. The index of a key, or of the texts, serves the
   * condition.
   */
  candidates(indexed: string | 'texts', where: Condition, limit: number): Fragment {
    const sql = this.sql
    const { nullable, key } = this.search.order
    return sql`
      select page.* from owner cross join lateral (
        select id as record_id, ${sql.unsafe(key)} as sort_key, ${sql.unsafe(nullable ? `${key} is null` : 'false')} as missing,
        ${this.#matches(indexed)} as matches, false as is_end
        ${this.#rows(indexed)}
        and ${where(sql)}
        ${this.#limit(limit)}
      ) page limit ${limit}`
  }

  /**
   * Returns a subquery for the number of rows of all tenants that meet a condition, counted up to a limit. The index of
   * a key serves the condition.
   */
  size(key: string, where: Condition, limit: number): Fragment {
    const sql = this.sql
    const { table } = (this.#hasEntries(key) && this.table.entries) || this.table
    return sql`
      (select count(*) from (
        select from owner cross join lateral (
          select from ${sql.unsafe(table)}
          ${this.#ofTenant()}
          and ${where(sql)}
          ${this.#limit(limit)}
        ) met limit ${limit}
      ) counted)`
  }

  /** Returns a query for the latest rows of each tenant, with all columns. */
  latest(ofEach: number, ofAll: number): Fragment {
    return this.sql`
      select latest.* from owner cross join lateral (
        select *
        ${this.#rows('updated_at')}
        order by updated_at desc, id desc limit ${ofEach}
      ) latest limit ${ofAll}`
  }

  /**
   * Returns the condition that a row is between the cursors, with a leading `and`. When it is false for a whole
   * segment, PostgreSQL does not read the segment.
   */
  between(missing: Fragment, key: Fragment, id: Fragment): Fragment {
    const sql = this.sql
    const { order, descending } = this.search
    const beyond = (cursor: PageWindow['after'], isAfter: boolean) => {
      if (cursor === null) return sql``
      const operator = sql.unsafe(descending === isAfter ? '<' : '>')
      if (cursor.key == null) {
        const isBeyond = sql`${id} ${operator} ${cursor.id}::bigint`
        return isAfter ? sql`and ${missing} and ${isBeyond}` : sql`and (not ${missing} or ${isBeyond})`
      }
      const place = sql`(${parseOnce(sql, cursor.key, order.type)}, ${cursor.id}::bigint)`
      const isBeyond = sql`(${key}, ${id}) ${operator} ${place}`
      return isAfter ? sql`and (${missing} or ${isBeyond})` : sql`and not ${missing} and ${isBeyond}`
    }
    return sql`${beyond(this.window.after, true)} ${beyond(this.window.before, false)}`
  }

  /** The number of rows to read: the rows of a page, and one additional row, which shows whether the list continues. */
  get #size(): number {
    return this.window.limit + 1
  }

  #hasEntries(indexed: string): boolean {
    const { entries } = this.table
    return !!entries && (indexed === 'texts' || entries.keys.includes(indexed))
  }

  /** Returns the `from` and `where` for the rows of a tenant, from the table with the index of a key. */
  #rows(indexed: string): Fragment {
    return this.sql`
      from ${this.sql.unsafe(this.#tables(indexed))}
      ${this.#ofTenant()}`
  }

  /** Returns the table with the index of a key. When the search uses columns of the other table, joins these by id. */
  #tables(indexed: string): string {
    const { table, entries } = this.table
    const { order, rangeKeys, words } = this.search
    if (!entries) return table
    if (!this.#hasEntries(indexed)) {
      return words ? `${table} ${lookUp(entries.texts, entries.table, `${table}.id`)}` : table
    }
    const hasAll = rangeKeys !== null && [order.key, ...rangeKeys].every(key => this.#hasEntries(key))
    return hasAll ? entries.table : `${entries.table} entry ${lookUp(entries.others, table, 'entry.id')}`
  }

  #ofTenant(): Fragment {
    const { sql, search, table } = this
    // A single tenant is a parameter, so that the planner estimates the rows of that tenant.
    const tenant = search.descendantsOf === null ? sql`${search.tenantId}::bigint` : sql`owner.owner_id`
    // `is_read` never runs, because ids are positive. Its declared cost makes the planner use the index with the fewest
    // rows.
    const listed = sql.unsafe(table.only === undefined ? '' : `and ${table.only}`)
    return sql`where tenant_id = ${tenant} and (tenant_id > 0 or gateway.is_read(tenant_id)) ${listed}`
  }

  /**
   * Returns a limit whose value the planner does not know. The planner then expects to read only a part of the range,
   * even when the average tenant has few rows. So it reads an index in order, and does not sort all rows of a large
   * tenant.
   */
  #limit(rows: number): Fragment {
    return this.sql`limit (select ${rows}::bigint)`
  }

  /**
   * Returns the condition of all filters; just `true` when the range of the index that is read already meets all of
   * them.
   */
  #matches(indexed: string): Fragment {
    const sql = this.sql
    const { conditions, rangeKeys } = this.search
    if (rangeKeys?.every(key => key === indexed)) return sql`true`
    const all = conditions.map(condition => condition(sql)).reduce((one, other) => sql`${one} and ${other}`)
    // `is true`, because a comparison with a null text is null.
    return sql`(${all}) is true`
  }
}
