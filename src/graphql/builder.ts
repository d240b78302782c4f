import SchemaBuilder from '@pothos/core'
import ComplexityPlugin from '@pothos/plugin-complexity'
import RelayPlugin from '@pothos/plugin-relay'
import type { Instant } from '../domain/instant.ts'
import type { Context } from './context.ts'
import { policyPlugin } from './policy.ts'
import { encodeGlobalId, type RecordId } from './record-id.ts'

/** What the parts of the schema agree on. */
export interface SchemaTypes {
  Context: Context
  DefaultFieldNullability: false
  DefaultEdgesNullability: { list: false; items: false }
  DefaultNodeNullability: false
  Scalars: {
    ID: { Input: RecordId; Output: string | number }
    BigInt: { Input: number; Output: number }
    Money: { Input: number; Output: number }
    DateTime: { Input: string; Output: Instant }
    Date: { Input: string; Output: string }
  }
  /** What every connection has beside its edges. */
  Connection: {
    nextCursor: string | null
    serverTime: Instant
    totalCount: () => Promise<number>
  }
}

/** The one builder: each noun's file adds its type and its fields to it. */
export const builder = new SchemaBuilder<SchemaTypes>({
  plugins: [policyPlugin, RelayPlugin, ComplexityPlugin],
  defaultFieldNullability: false,
  complexity: { defaultListMultiplier: 1 },
  relay: {
    cursorType: 'String',
    nodesOnConnection: { description: 'The records of this page, without their cursors.' },
    edgesFieldOptions: {
      nullable: { list: false, items: false },
      description: 'The records of this page, each with its cursor.',
    },
    nodeFieldOptions: { nullable: false, description: 'The record.' },
    cursorFieldOptions: { description: 'Where this record stands in the list; for `after` and `before`.' },
    pageInfoFieldOptions: { description: 'Where this page stands in the list.' },
    pageInfoTypeOptions: { description: 'Where a page stands in its list.' },
    hasNextPageFieldOptions: { description: 'Whether the list goes on after this page.' },
    hasPreviousPageFieldOptions: { description: 'Whether the list has records before this page.' },
    startCursorFieldOptions: { description: 'The cursor of the first record; null on an empty page.' },
    endCursorFieldOptions: { description: 'The cursor of the last record; null on an empty page.' },
    beforeArgOptions: { description: 'A cursor: only what stands before it in the list.' },
    afterArgOptions: { description: 'A cursor: only what stands after it in the list.' },
    firstArgOptions: { description: 'How many records, from the start; 0 to 100, and 50 without `first` and `last`.' },
    lastArgOptions: { description: 'How many records, from the end; 0 to 100, and not together with `first`.' },
    defaultConnectionTypeOptions: { description: 'A page of a list.' },
    defaultEdgeTypeOptions: { description: 'A record, and where it stands in its list.' },
    idFieldOptions: { description: 'The global id: opaque, and unique among all types.' },
    nodeTypeOptions: { description: 'A record that can be fetched again by its global id.' },
    // `node.ts` adds these fields.
    nodeQueryOptions: false,
    nodesQueryOptions: false,
    encodeGlobalID: encodeGlobalId,
  },
})

builder.queryType({ description: 'What can be read.' })
builder.mutationType({ description: 'What can be done.' })
