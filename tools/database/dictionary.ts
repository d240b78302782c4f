/** Describes the columns of mappings, as `docs/data-dictionary.md` and `schema/mapping-columns.json` have them. */
import { readFileSync } from 'node:fs'
import { type DocumentNode, isObjectType, Kind } from 'graphql'
import type { Sql } from '../../src/db/sql.ts'
import type { Resource } from '../../src/domain/record/resource.ts'
import { voucherStatusNames } from '../../src/domain/record/voucher-status.ts'
import type { FilterField, FilterKind } from '../../src/domain/search/field.ts'
import { typeNameOf } from '../../src/graphql/node-types.ts'
import { findResource, resourceLists } from '../../src/graphql/resource.ts'
import { schema } from '../../src/graphql/schema.ts'
import { fieldsOf, responseKey } from '../../src/rest/prepare-operation.ts'
import { toJson } from '../json.ts'

/** A row of `dictionary.sql`. */
interface MappingColumn {
  record: string
  note: string | null
  name: string
  type: string
  standard: string | null
  rule: string | null
  derived: string
}

/** A type of the schema that shows records. Its fields are named as the columns, with a prefix. */
interface ShownType {
  record: string
  type: string
  prefix?: string
}

/** A value of each kind of filter. */
const samples: Record<Extract<FilterKind, string>, unknown> = {
  dates: { from: '2026-01-01', to: '2026-12-31' },
  instants: { from: '2026-01-01T00:00:00Z' },
  amounts: { from: 1 },
  text: 'GBP',
  boolean: true,
  voucherStatuses: voucherStatusNames,
}

const codeOf = (names: readonly string[]): string => names.map(name => `\`${name}\``).join(', ')

/** Returns the column that an expression selects: `image_urls` of `array_to_json(image_urls)`. */
const columnOf = (expression = ''): string => /(\w+)\)?$/.exec(expression)?.[1] ?? ''

/** Returns the words of a statement outside string literals. The names of its columns are among these words. */
const wordsOf = (sql: string): string[] => sql.replaceAll(/'[^']*'/g, '').match(/\w+/g) ?? []

async function columnsOfFilter(sql: Sql, { record, columns }: Resource, filter: FilterField): Promise<string[]> {
  if (filter.textFields) {
    return Object.values(filter.textFields).map(({ property }) => columnOf(columns[property]?.expression))
  }
  const sample = typeof filter.kind === 'string' ? samples[filter.kind] : { id: 1 }
  const where = filter.read(sample, () => {}, [])?.where
  if (!where) throw new Error(`A filter of the type ${record} rejects ${JSON.stringify(sample)}.`)
  const { string } = await sql`
    select from ${sql.unsafe(`gateway.${record}`)}, (select current_date as today) owner where ${where(sql)}`.describe()
  return wordsOf(string)
}

/** Returns the filters and orders of a resource, with the columns that they compare. */
async function comparisonsOf(sql: Sql, resource: Resource) {
  const { record, search } = resource
  const filters = Object.entries(search?.filters ?? {}).map(async ([name, filter]) => {
    return { record, label: `filter \`${name}\``, columns: await columnsOfFilter(sql, resource, filter) }
  })
  const orders = Object.entries(search?.orders ?? {}).map(([name, { key }]) => {
    return { record, label: `order \`${name}\``, columns: wordsOf(key) }
  })
  return [...(await Promise.all(filters)), ...orders]
}

/** Returns for each field of the schema the fields of v1 that show it. */
function fieldsOfV1(documents: readonly DocumentNode[]): Map<string, string> {
  const fields = documents
    .flatMap(({ definitions }) => definitions)
    .flatMap(definition => {
      if (definition.kind !== Kind.FRAGMENT_DEFINITION) return []
      const [type, record] = [definition.typeCondition.name.value, definition.name.value.replace(/V\d+$/, '')]
      return fieldsOf(definition.selectionSet).map(
        field => [`${type}.${field.name.value}`, `${record}.${responseKey(field)}`] as const,
      )
    })
  return new Map(fields)
}

/** Returns the fields of the schema that show a column. */
const fieldsShowing = (types: readonly ShownType[], column: MappingColumn) =>
  types.flatMap(({ record, type, prefix = '' }) => {
    const definition = schema.getType(type)
    if (record !== column.record || !isObjectType(definition)) return []
    const name = `${prefix}${column.name}`.replaceAll(/_(.)/g, (_, start: string) => start.toUpperCase())
    const field = definition.getFields()[name === 'id' ? 'databaseId' : name]
    return field ? [{ path: `${type}.${field.name}`, description: field.description }] : []
  })

/** The types of the schema that show records. */
function shownTypes(): ShownType[] {
  return [
    { record: 'tenant', type: 'Tenant' },
    { record: 'tenant', type: 'ResolutionTenant' },
    { record: 'tenant', type: 'ResolutionTenant', prefix: 'source_tenant_' },
    { record: 'category', type: 'Category' },
    { record: 'variant', type: 'Variant' },
    ...resources().map(({ record, noun }) => ({ record, type: typeNameOf(noun) })),
    { record: 'voucher', type: 'ResolvedVoucher' },
  ]
}

const resources = () => resourceLists().flatMap(list => findResource(list) ?? [])

const read = (file: string) => readFileSync(new URL(file, import.meta.url), 'utf8')

/** A type of record, with the columns of its mapping. */
interface MappedRecord {
  record: string
  words: string
  columns: (MappingColumn & { key: string; words: string; fields: string[] })[]
}

/** Describes the types of records, and the columns of their mappings. @param sql a migrated database */
export async function describeMappings(sql: Sql): Promise<MappedRecord[]> {
  const types = shownTypes()
  const columns = (await sql.unsafe<MappingColumn[]>(read('dictionary.sql'))).map(column => {
    const fields = fieldsShowing(types, column)
    return {
      ...column,
      key: column.name === 'id' ? 'key' : column.name,
      words: [fields[0]?.description, column.rule].join(' ').trim(),
      fields: fields.map(({ path }) => path),
    }
  })
  return [...new Set(columns.map(({ record }) => record))].map(record => {
    const own = columns.filter(column => column.record === record)
    const type = schema.getType(types.find(shown => shown.record === record)?.type ?? '')
    return { record, words: [type?.description, own[0]?.note].join(' ').trim(), columns: own }
  })
}

/** Returns `schema/mapping-columns.json`: the words that `adopt init` writes into the files of a mapping. */
export function toMappingColumns(records: readonly MappedRecord[]): string {
  const entries = records.map(({ record, words, columns }) => {
    const described = columns.map(({ key, type, standard, words }) => [key, { type, default: standard, words }])
    return [record, { words, columns: Object.fromEntries(described) }]
  })
  return toJson(Object.fromEntries(entries))
}

/** Returns `docs/data-dictionary.md`. @param documents of v1 */
export async function toDictionary(
  sql: Sql,
  records: readonly MappedRecord[],
  documents: readonly DocumentNode[],
): Promise<string> {
  const comparisons = (await Promise.all(resources().map(resource => comparisonsOf(sql, resource)))).flat()
  const ofV1 = fieldsOfV1(documents)

  const toRow = ({ record, name, key, type, standard, words, fields, derived }: MappedRecord['columns'][number]) => {
    const names = [name, ...derived.split(' ')]
    const cells = [
      `\`${key}\`<br>${type}`,
      standard === null ? '*required*' : codeOf([standard]),
      words,
      codeOf(fields.flatMap(path => ofV1.get(path) ?? [])),
      codeOf(fields),
      comparisons
        .filter(comparison => comparison.record === record && comparison.columns.some(name => names.includes(name)))
        .map(({ label }) => label)
        .join(', '),
    ]
    return `| ${cells.join(' | ')} |\n`
  }

  const sections = records.map(
    ({ record, words, columns }) => `
## ${record}

${words}

| Column | Default | Meaning and rule | v1 | GraphQL | Filters and orders |
|---|---|---|---|---|---|
${columns.map(toRow).join('')}`,
  )
  return read('dictionary.md') + sections.join('')
}
