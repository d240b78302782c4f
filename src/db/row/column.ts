/**
 * Describes the columns of a row type: the SQL expression, the codec and the description of the GraphQL field of each.
 */
import { type ColumnCodec, type ColumnKind, type ColumnValue, columnCodecs } from './column-codecs.ts'

export interface Column<Value = unknown, Nullable extends boolean = boolean> {
  readonly expression: string
  readonly kind: ColumnKind
  readonly codec: ColumnCodec<Value>
  readonly nullable: Nullable
  /** The description of the column's field in the GraphQL schema; undefined for a column without a field. */
  readonly description: string | undefined
}

/** The columns of a row type, by property. A property that can be null also accepts a column that is never null. */
export type Columns<Row> = {
  readonly [Name in keyof Row]: Column<NonNullable<Row[Name]>, null extends Row[Name] ? boolean : false>
}

export type RowOf<Described extends Readonly<Record<string, Column>>> = {
  readonly [Name in keyof Described]: Described[Name] extends Column<infer Value, infer Nullable>
    ? Value | (Nullable extends true ? null : never)
    : never
}

/**
 * Describes a column that is never null.
 *
 * @param expression the SQL expression that selects the column
 * @param description the description of the column's field in the GraphQL schema; without a description, the column has
 * no field
 */
export const column = <Kind extends ColumnKind>(
  expression: string,
  kind: Kind,
  description?: string,
): Column<ColumnValue<Kind>, false> => ({ expression, kind, codec: columnCodecs[kind], nullable: false, description })

/** Describes a column that can be null. The parameters have the same meaning as for `column`. */
export const nullable = <Kind extends ColumnKind>(
  expression: string,
  kind: Kind,
  description?: string,
): Column<ColumnValue<Kind>, true> => ({ ...column(expression, kind, description), nullable: true })
