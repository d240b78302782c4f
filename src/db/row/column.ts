/** Describes the columns of a row type: their SQL expressions, their codecs, and the descriptions of their fields. */
import { type ColumnCodec, type ColumnKind, type ColumnValue, columnCodecs } from './column-codecs.ts'

export interface Column<Value = unknown, Nullable extends boolean = boolean> {
  readonly expression: string
  readonly kind: ColumnKind
  readonly codec: ColumnCodec<Value>
  readonly nullable: Nullable
  /** The description of its field in the schema; undefined for a column without a field. */
  readonly description: string | undefined
}

/** The columns of a row type, by property. A column that is never null also fits a property that can be null. */
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
 * @param expression the SQL expression that selects it
 * @param description of its field in the schema; a column without a description is no field
 */
export const column = <Kind extends ColumnKind>(
  expression: string,
  kind: Kind,
  description?: string,
): Column<ColumnValue<Kind>, false> => ({ expression, kind, codec: columnCodecs[kind], nullable: false, description })

/** Describes a column that can be null. The parameters are the parameters of `column`. */
export const nullable = <Kind extends ColumnKind>(
  expression: string,
  kind: Kind,
  description?: string,
): Column<ColumnValue<Kind>, true> => ({ ...column(expression, kind, description), nullable: true })
