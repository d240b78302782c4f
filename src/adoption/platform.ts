/** Finds the tables of a platform that have records of v1, and the columns that refer to other tables. */
import { columnNames, tableNames } from './names.ts'
import type { Column, Table } from './tables.ts'

/** The tables of a platform, with the types of records and the references that names and keys suggest. */
export interface Platform {
  tables: Table[]
  /** The tables that may have the records of each type, the likeliest first. */
  candidates: Map<string, readonly Table[]>
  /** The table that each column refers to. */
  targets: Map<Column, Table>
  /** True when no column refers to a tenant. Then all records belong to the tenant with the key 1. */
  hasOneShop: boolean
}

/** Returns a name in the style of columns: `gift_card` for `giftCard` and `Gift Card`. */
export const toSnakeCase = (name: string): string =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, '_')

/** Returns the column that is the primary key of a table. */
export const keyColumnOf = ({ columns }: Table): Column | undefined => columns.find(({ isKey }) => isKey)

const withoutSeparators = (name: string) => toSnakeCase(name).replaceAll('_', '')

/** Returns a name in the singular: `category` for `categories`. */
export const singular = (name: string) => name.replace(/ies$/, 'y').replace(/(?<=ch|sh|ss|x)es$|(?<!s)s$/, '')

/**
 * Groups the tables with a key by their names. A table has its whole name, and also its name without a prefix that most
 * tables have, or that the name repeats (`giftcard_giftcardevent`).
 */
function groupByName(tables: readonly Table[]): Map<string, Table[]> {
  const groups = new Map<string, Table[]>()
  const words = tables.map(({ name }) => toSnakeCase(name).split('_'))
  for (const [index, table] of tables.entries()) {
    if (!keyColumnOf(table)) continue
    const [first = '', ...rest] = words[index] ?? []
    const isPrefix = rest[0]?.startsWith(first) || words.filter(([other]) => other === first).length * 2 > tables.length
    for (const parts of rest.length > 0 && isPrefix ? [[first, ...rest], rest] : [[first, ...rest]]) {
      const name = singular(parts.join(''))
      groups.set(name, [...(groups.get(name) ?? []), table])
    }
  }
  return groups
}

/**
 * Finds the tables of records by their names, and the tables that columns refer to: by foreign keys, or else by the
 * column's type and a name such as `shop_id`.
 *
 * @param records the types of records
 */
export function findRecords(tables: Table[], records: readonly string[]): Platform {
  const named = groupByName(tables)
  const byPath = new Map(tables.map(table => [table.path, table]))
  const find = ({ name, type, target }: Column): Table | undefined =>
    target === null
      ? named.get(/^(.+)id$/.exec(withoutSeparators(name))?.[1] ?? '')?.find(table => keyColumnOf(table)?.type === type)
      : byPath.get(target)
  const targets = new Map(
    tables.flatMap(({ columns }) =>
      columns.flatMap(column => {
        const target = column.isKey ? undefined : find(column)
        return target ? [[column, target] as const] : []
      }),
    ),
  )
  const candidates = new Map(
    records.map(record => {
      const found = tableNames(record).flatMap(name => named.get(withoutSeparators(name)) ?? [])
      return [record, [...new Set(found)]] as const
    }),
  )
  const [tenant] = candidates.get('tenant') ?? []
  const tenantColumns = columnNames('tenant_id')
  const columns = [...candidates.values()].flatMap(([source]) => (source && source !== tenant ? source.columns : []))
  const hasOneShop = !columns.some(
    column => tenantColumns.includes(toSnakeCase(column.name)) || (tenant && targets.get(column) === tenant),
  )
  return { tables, candidates, targets, hasOneShop }
}
