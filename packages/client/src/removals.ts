/** Reads removals, the records that left a tenant's lists, over GraphQL. v1 does not report removals. */

import { array, type Check, count, cursor, id, instant, nullable, object, oneOf, parse, text } from './check.ts'
import { Removals } from './documents.ts'
import { runQuery } from './graphql.ts'
import { type ListOptions, type Page, RecordList, toInstant } from './list.ts'
import { type TenantListName, tenantListNames, tenantLists } from './reads.ts'
import type { Transport } from './transport.ts'

/** The values of `resource`, which name the list that a record has left. */
export type RemovalResource = 'TENANT' | (typeof tenantLists)[TenantListName]['removal']

const resources = [...tenantListNames.map(name => tenantLists[name].removal), 'TENANT'] as const

/**
 * A record that left a list of the requested tenant. Delete your copy of the record with this tenant and `recordId`.
 */
export interface Removal {
  resource: RemovalResource
  recordId: number
  reason: 'CONSENT_WITHDRAWN' | 'DELETED' | 'MOVED'
  removedAt: string
}

/** A page of removals. */
export interface RemovalPage extends Page<Removal> {
  /**
   * A number that grows when every copy must be read again from the beginning. Store the epoch that the service had at
   * the start of a full pass.
   */
  epoch: number
  /** Identifies the service. The id is the same at all addresses of the service. */
  serviceId: string
  /**
   * The earliest valid `updatedSince`; null when the service has never purged a removal, so that every time is valid.
   */
  removalsCompleteSince: string | null
}

const removal = object<Removal>({
  resource: oneOf<RemovalResource>(...resources),
  recordId: id,
  reason: oneOf('CONSENT_WITHDRAWN', 'DELETED', 'MOVED'),
  removedAt: instant,
})

const pageCheck: Check<RemovalPage> = object({
  records: array(removal),
  nextCursor: nullable(cursor),
  serverTime: instant,
  epoch: count,
  serviceId: text,
  removalsCompleteSince: nullable(instant),
})

const responseCheck = object({ data: object({ tenant: object({ removals: pageCheck }) }) })

/** Options of a call for removals. */
export interface RemovalOptions extends ListOptions {
  /** Returns only removals from these lists. Default: all lists that the token may read. */
  resources?: RemovalResource[] | undefined
}

/** Creates the list of a tenant's removals, which is read during an iteration. */
export function createRemovalList(
  transport: Transport,
  tenant: number,
  { updatedSince, cursor: from, resources, signal }: RemovalOptions,
  first = 100,
): RecordList<Removal, RemovalPage> {
  return new RecordList<Removal, RemovalPage>(async function* () {
    for (let after: string | null | undefined = from; after !== null; ) {
      const variables = { tenant, since: toInstant(updatedSince), after, resources, first }
      const { body, requestId } = await runQuery(transport, Removals, variables, { signal })
      const page = parse(responseCheck, body, requestId).data.tenant.removals
      after = page.nextCursor
      yield page
    }
  })
}
