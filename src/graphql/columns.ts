/** The fields of the schema that are derived from the columns of a row. */
import type { FieldRef } from '@pothos/core'
import { mapMaybePromise } from '../async/maybe-promise.ts'
import type { Column, Columns, RowOf } from '../db/row/column.ts'
import type { ColumnKind, ColumnValue } from '../db/row/column-codecs.ts'
import type { BuilderTypes } from './builder.ts'
import type { Context } from './context.ts'
import { offerColumn } from './direct-resolver.ts'

type Fields<Parent> = PothosSchemaTypes.ObjectFieldBuilder<BuilderTypes, Parent>

type DescribedColumns = Readonly<Record<string, Column>>

type AddField = (column: string, options: FieldOptions) => FieldRef<BuilderTypes>

/**
 * The types of the fields of columns, by their kind, without the outer `!`. A column has the same JSON as its GraphQL
 * type.
 */
export const columnTypes = {
  bigint: 'BigInt',
  integer: 'Int',
  decimal: 'Money',
  boolean: 'Boolean',
  text: 'String',
  instant: 'DateTime',
  date: 'Date',
  textArray: '[String!]',
} as const satisfies Record<ColumnKind, string>

type ColumnType = (typeof columnTypes)[ColumnKind]

interface FieldOptions {
  type: Exclude<ColumnType, '[String!]'> | ['String']
  nullable: boolean
  description: string
}

/**
 * Adds the fields of the columns that have a description. The field `id` is the global id, so the numeric id is the
 * field `databaseId`.
 */
function addFields(columns: DescribedColumns, add: AddField): Record<string, FieldRef<BuilderTypes>> {
  const fields: Record<string, FieldRef<BuilderTypes>> = {}
  for (const [name, { kind, nullable, description }] of Object.entries(columns)) {
    if (description === undefined) continue
    const columnType = columnTypes[kind]
    const type = columnType === '[String!]' ? (['String'] satisfies ['String']) : columnType
    fields[name === 'id' ? 'databaseId' : name] = add(name, { type, nullable, description })
  }
  return fields
}

/**
 * Adds a field for each column that has a description, with the GraphQL type of the column's kind. The column `id`
 * becomes the field `databaseId`.
 */
export function exposeColumns<Of extends DescribedColumns, Row extends RowOf<Of>>(t: Fields<Row>, columns: Of) {
  // The row has these columns, but TypeScript cannot infer the type of each property.
  const untyped = t as Fields<Record<string, never>>
  return addFields(columns, (name, options) => untyped.expose(name, options))
}

/**
 * Adds the fields of `exposeColumns` to a type whose row may have to be loaded.
 *
 * @param load returns the row of a parent; a parent that is already a row is returned unchanged
 */
export function loadColumns<Parent, Row extends Readonly<Record<string, ColumnValue<ColumnKind> | null>>>(
  t: Fields<Parent>,
  columns: Columns<Row>,
  load: (parent: Parent, context: Context) => Row | Promise<Row>,
) {
  return addFields(columns, (name, options) => {
    const resolve = (parent: Parent, _args: object, context: Context) =>
      mapMaybePromise(load(parent, context), row => row[name])
    offerColumn(resolve, name)
    return t.field({ ...options, resolve })
  })
}
