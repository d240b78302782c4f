import SchemaBuilder from '@pothos/core'
import RelayPlugin from '@pothos/plugin-relay'
import type { Count } from '../domain/search/search-table.ts'
import type { Instant } from '../domain/value/instant.ts'
import type { Context } from './context.ts'
import { encodeGlobalId } from './global-id.ts'
import { policyPlugin } from './policy.ts'

/** The types that all files of the schema share. */
export interface SchemaTypes {
  Context: Context
  DefaultFieldNullability: false
  DefaultEdgesNullability: { list: false; items: false }
  DefaultNodeNullability: false
  Scalars: {
    BigInt: { Input: number; Output: number }
    Money: { Input: number; Output: number }
    DateTime: { Input: string; Output: Instant }
    Date: { Input: string; Output: string }
  }
  /** The fields of every connection in addition to Relay's. */
  Connection: {
    nextCursor: string | null
    serverTime: Instant
    totalCount: () => Promise<number>
    count: () => Promise<Count>
  }
}

/** The types of the schema in Pothos' form. */
export type BuilderTypes = PothosSchemaTypes.ExtendDefaultTypes<SchemaTypes>

/** The builder of the schema. Each file adds its types and fields. */
export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: [policyPlugin, RelayPlugin],
  defaultFieldNullability: false,
  relay: {
    cursorType: 'String',
    nodesOnConnection: { description: 'The records of this page, without their cursors.' },
    edgesFieldOptions: {
      nullable: { list: false, items: false },
      description: 'The records of this page, each with its cursor.',
    },
    nodeFieldOptions: { nullable: false, description: 'The record.' },
    cursorFieldOptions: { description: 'The position of this record in the list; a value of `after` and `before`.' },
    pageInfoFieldOptions: { description: 'The position of this page in the list.' },
    pageInfoTypeOptions: { description: 'The position of a page in its list.' },
    hasNextPageFieldOptions: {
      description:
        'True when the list has a page after this one. With a filter that few records match, that page may be empty.',
    },
    hasPreviousPageFieldOptions: {
      description:
        'True when the list has a page before this one. With a filter that few records match, that page may be empty.',
    },
    startCursorFieldOptions: {
      description:
        'The cursor of the start of this page: of its first record, or of the place down to which the list was read. ' +
        'Null when there is neither.',
    },
    endCursorFieldOptions: {
      description:
        'The cursor of the end of this page: of its last record, or of the place up to which the list was read. Null ' +
        'when there is neither.',
    },
    beforeArgOptions: { description: 'A cursor. Only records before it in the list.' },
    afterArgOptions: { description: 'A cursor. Only records after it in the list.' },
    firstArgOptions: {
      description: 'The number of records from the start: 0 to 100. Default: 50, unless `last` is given.',
    },
    lastArgOptions: { description: 'The number of records from the end: 0 to 100. Not together with `first`.' },
    defaultConnectionTypeOptions: { description: 'A page of a list.' },
    defaultEdgeTypeOptions: { description: 'A record with its position in the list.' },
    idFieldOptions: { description: 'The global id: opaque, and unique among all types.' },
    nodeTypeOptions: { description: 'A record that can be fetched by its global id.' },
    // `node.ts` adds these fields.
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    encodeGlobalID: encodeGlobalId,
  },
})

/** Returns the values of an enum. @param descriptions the description of each value, by its name */
export const enumValues = <Value extends string>(descriptions: Readonly<Record<Value, string>>) =>
  Object.fromEntries(
    Object.entries<string>(descriptions).map(([name, description]) => [name, { value: name, description }]),
  ) as Record<Value, { value: Value; description: string }>

builder.queryType({ description: 'The data that can be read.' })
builder.mutationType({ description: 'The operations that can be run.' })
builder.subscriptionType({ description: 'The changes that can be followed, as an event stream.' })
