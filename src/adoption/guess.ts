/**
 * Guesses the SQL expression of each column of a mapping from the names and types of the platform's columns
 * (`names.ts`).
 */
import * as names from './names.ts'
import { keyColumnOf, type Platform, singular, toSnakeCase } from './platform.ts'
import type { Column, Table } from './tables.ts'

/** The guess for a column of a mapping: an SQL expression, or null; and a note for the person who checks the guess. */
interface Guess {
  value: string | null
  note?: string | undefined
}

const minorUnits = /_(in_)?(cents|pence|minor|minor_units)$/

/**
 * Returns a column with one of the names, earlier names first, and with a type that converts to the wanted type. The
 * name of the table may be a prefix: `variant_rank` of `product_variants` is a `rank`.
 */
function findColumn({ name, columns }: Table, sought: readonly string[], type: string): Column | undefined {
  const usable = columns.filter(column => names.sourceTypes[type]?.includes(column.type))
  const prefix = `${singular(toSnakeCase(name)).split('_').at(-1)}_`
  return ['', prefix].flatMap(before =>
    sought.flatMap(each =>
      usable.filter(column => toSnakeCase(column.name).replace(minorUnits, '') === `${before}${each}`),
    ),
  )[0]
}

/** Returns a table for a `from` clause. */
export const fromOf = ({ path, alias, source, name }: Table): string => (source === name ? path : `${path} ${alias}`)

/** Returns the condition that an enum of a table has one of the words. */
function findWord({ alias, columns }: Table, words: readonly string[]): string | undefined {
  const labels = columns.flatMap(({ sql, labels }) => labels.map(label => ({ sql, label })))
  const found = labels.find(({ label }) => words.includes(label.toLowerCase()))
  return found && `${alias}.${found.sql} = '${found.label}'`
}

/** Returns the conditions of the rows that partners may see: not deleted, and in the catalog only vouchers on sale. */
export function guessConditions(record: string, source: Table): string[] {
  const find = (sought: readonly string[], type: string, condition = '') => {
    const column = findColumn(source, sought, type)
    return column && `${source.alias}.${column.sql}${condition}`
  }
  const isInCatalog = ['category', 'product', 'variant'].includes(record)
  return [
    isInCatalog && find(names.voucherFlags, 'boolean'),
    isInCatalog && (find(names.shownNames, 'boolean') ?? findWord(source, names.shownWords)),
    find(names.deletedNames, 'timestamp with time zone', ' is null') ??
      find(names.deletedNames, 'boolean', ' is not true'),
  ].filter(condition => typeof condition === 'string')
}

/** Creates the functions that guess the columns of the mapping of a table, and collect the tables that they join. */
export function createGuesser(source: Table, { tables, candidates, targets, hasOneShop }: Platform) {
  /** The tables to join, each with the column of the source that refers to the table. */
  const joins = new Map<Table, Column>()
  /** The tables that link the record with other records, each with the column that refers to the source. */
  const links = new Map<Table, Column>()
  const at = (column: Column) => `${source.alias}.${column.sql}`
  const tableOf = (record = '') => candidates.get(record)?.[0]
  /** Finds the column of a table that refers to the target. */
  const leadingTo = (target: Table | undefined, { columns } = source) =>
    target && columns.find(column => targets.get(column) === target)

  /** Finds a column in the source, or else in a table that a column of the source refers to. */
  function locate(name: string, type: string): { column: Column; value: string } | undefined {
    const own = findColumn(source, names.columnNames(name), type)
    if (own) return { column: own, value: at(own) }
    const place = names.joinedColumns[name]
    for (const leading of place ? source.columns : []) {
      const target = targets.get(leading)
      if (!place || !target || target === source || (place.record && target !== tableOf(place.record))) continue
      const column = findColumn(target, names.columnNames(place.column), type)
      if (!column) continue
      if (!joins.has(target)) joins.set(target, leading)
      return { column, value: `${target.alias}.${column.sql}` }
    }
    return undefined
  }

  /**
   * Guesses the keys of a product's categories: from a table that links products and categories, else from a column.
   */
  function guessCategories(key: Column | undefined): Guess {
    const category = tableOf('category')
    for (const table of tables) {
      const [product, linked] = [leadingTo(source, table), leadingTo(category, table)]
      if (!key || !product || !linked || table === source || table === category) continue
      links.set(table, product)
      return { value: `array(select ${linked.sql} from ${table.path} where ${product.sql} = ${at(key)} order by 1)` }
    }
    const own = leadingTo(category)
    return { value: own ? `array_remove(array[${at(own)}], null)` : null }
  }

  /**
   * Guesses whether a voucher is void: from a boolean column (void or active), the date of voiding, or a value of an
   * enum.
   */
  function guessVoid(): Guess {
    const flag = findColumn(source, names.columnNames('void'), 'boolean')
    const opposite = findColumn(source, names.activeColumnNames, 'boolean')
    const time = findColumn(source, names.columnNames('void_date'), 'timestamp with time zone')
    if (flag) return { value: at(flag) }
    if (opposite) return { value: `not ${at(opposite)}` }
    if (time) return { value: `${at(time)} is not null` }
    return { value: findWord(source, names.voidWords) ?? null }
  }

  /** Converts an instant to the calendar day in the time zone of the tenant. */
  function toDay(name: string, instant: string): Guess {
    const found = locate('time_zone', 'text')?.value
    const zone = found ?? `'UTC'`
    return {
      value:
        name === 'date_valid_end' ? `gateway.last_day(${instant}, ${zone})` : `(${instant} at time zone ${zone})::date`,
      note: found ? undefined : 'No time zone found: UTC is taken.',
    }
  }

  /** Converts the value of a column to the type of a column of the mapping. */
  function convert(name: string, type: string, column: Column, value: string): Guess {
    if (type === 'text') {
      const text = column.type === 'enum' ? `${value}::text` : value
      return { value: name === 'currency' ? `upper(${text})` : text }
    }
    const isMinor = minorUnits.test(toSnakeCase(column.name))
    if (type === 'numeric' && (isMinor || column.type !== 'numeric')) {
      const currency = guess('currency', 'text').value ?? 'null'
      return {
        value: `gateway.major_units(${value}, ${currency})`,
        note: isMinor ? undefined : 'An integer is taken for minor units.',
      }
    }
    const isLocal = column.type === 'timestamp'
    const instant = isLocal ? `${value} at time zone 'UTC'` : value
    const { note, ...converted } =
      type === 'date' && column.type !== 'date' ? toDay(name, instant) : { value: instant, note: undefined }
    return { ...converted, note: isLocal ? 'A time without a zone is taken for UTC.' : note }
  }

  /** Guesses a column of the mapping. @param type the type of the record's column */
  function guess(name: string, type: string): Guess {
    if (hasOneShop && (name === 'tenant_id' || (name === 'key' && source === tableOf('tenant')))) {
      return { value: '1', note: 'No column leads to a tenant: all records are of one shop.' }
    }
    const key = name === 'key' ? keyColumnOf(source) : leadingTo(tableOf(names.references[name]))
    if (key) return { value: at(key) }
    if (name === 'category_ids') return guessCategories(keyColumnOf(source))
    if (name === 'void') return guessVoid()
    const found = locate(name, type)
    if (found) return convert(name, type, found.column, found.value)
    // Without a column for the consent, the mapping says that no customer consents.
    return name === 'marketing_opted'
      ? { value: 'false', note: 'Nothing found: no customer is listed.' }
      : { value: null }
  }

  /**
   * Returns a constant for a column that was not found: the default, cast to the column's type or to the type of the
   * keys.
   */
  function fallback(name: string, type: string, standard: string | null): string {
    const record = names.keyColumns[name]
    const table = hasOneShop && record === 'tenant' ? undefined : tableOf(record)
    const key = table && keyColumnOf(table)?.type
    const isInteger = key === undefined || /^int\d$/.test(key)
    return `${standard}::${isInteger ? type : type.replace('bigint', key === 'uuid' ? 'uuid' : 'text')}`
  }

  return { guess, fallback, joins, links }
}
