/** The parts of an operation's plan. The stages that run an operation read only the plan, not the document. */
import type { FieldNode, GraphQLField, GraphQLFieldResolver, GraphQLLeafType, GraphQLObjectType } from 'graphql'
import type { ColumnCodec } from '../db/row/column-codecs.ts'
import type { ColumnLayout } from '../db/row/row-codec.ts'
import type { ResolveBatch } from '../graphql/direct-resolver.ts'

interface LeafPlan {
  kind: 'leaf'
  type: GraphQLLeafType
}

export interface ListPlan {
  kind: 'list'
  item: ValuePlan
  nonNullItems: boolean
}

export interface ObjectPlan {
  kind: 'object'
  type: GraphQLObjectType
  fields: readonly FieldPlan[]
  /** Returns for each field its column in a row; null when the field is not a column. */
  columnsOf: (layout: ColumnLayout) => readonly (ColumnField | null)[]
}

/** A field that is a column. `offset` is the index of its first bound, relative to the first bound of the row. */
export interface ColumnField extends Pick<FieldPlan, 'prefix' | 'nonNull' | 'omitNull'> {
  offset: number
  writeJson: ColumnCodec['writeJson']
}

/** The type of a value, without the `!`, and its selection. */
export type ValuePlan = LeafPlan | ListPlan | ObjectPlan

/**
 * The source of a field's values. With `default`, the property of the parent may be a method, which graphql-js calls; a
 * `property` is only read.
 */
export type FieldSource =
  | { kind: 'typename' }
  | { kind: 'property' | 'default'; name: string }
  | { kind: 'batch'; resolveBatch: ResolveBatch }
  /** `column` is the property that the resolver returns when the parent is a row. */
  | { kind: 'resolver'; resolve: GraphQLFieldResolver<unknown, unknown>; column?: string }

/**
 * A field of an object, which merges all nodes with the same response key in a selection. All places where the
 * selection occurs share one plan of the field.
 */
export interface FieldPlan {
  key: string
  /** The text `,"key":`; for `__typename` followed by the value. */
  prefix: Buffer
  nodes: readonly FieldNode[]
  parentType: GraphQLObjectType
  field: GraphQLField<unknown, unknown>
  source: FieldSource
  nonNull: boolean
  /** True when the key is left out if its value is null. */
  omitNull: boolean
  value: ValuePlan
  /** Reads the arguments; throws when a required one has no value. */
  readArguments: (variables: Record<string, unknown>) => Record<string, unknown>
}
