/** Removals: the records that left a tenant's lists. v1 does not report them; GraphQL does. */

import type { Answer } from './answer-error.ts'
import { Removals } from './documents.ts'
import { runQuery } from './graphql.ts'
import { isObject } from './json.ts'
import { invalidResponse, isCursor, type ListOptions, type Page, RecordList, toInstant } from './list.ts'
import type { Transport } from './transport.ts'

/** The lists that a record can leave. */
export type RemovalResource = 'CATALOG_VOUCHER' | 'MARKETING_SIGNUP' | 'PURCHASED_VOUCHER' | 'TENANT'

/** A record that left a list of the tenant in the call. Drop the one that is kept under this tenant and `recordId`. */
export interface Removal {
  resource: RemovalResource
  recordId: number
  reason: 'CONSENT_WITHDRAWN' | 'DELETED' | 'MOVED'
  removedAt: string
}

/** A page of removals. */
export interface RemovalPage extends Page<Removal> {
  /** Grows when all copies must be rebuilt: keep the one of the start of a full pass. */
  epoch: number
  /** The earliest valid `updatedSince`; null when there is none. */
  removalsCompleteSince: string | null
}

/** What a call for removals takes. */
export interface RemovalOptions extends ListOptions {
  /** Only removals from these lists; default: all that the token may read. */
  resources?: RemovalResource[] | undefined
}

/** Creates the list of a tenant's removals. */
export function createRemovals(
  transport: Transport,
  tenant: number,
  { updatedSince, cursor, resources, signal }: RemovalOptions,
  first = 100,
): RecordList<Removal, RemovalPage> {
  return new RecordList<Removal, RemovalPage>(async function* () {
    for (let after: string | null | undefined = cursor; after !== null; ) {
      const variables = { tenant, since: toInstant(updatedSince), after, resources, first }
      const page = toPage(await runQuery(transport, Removals, variables, { signal }))
      after = page.nextCursor
      yield page
    }
  })
}

function toPage({ body, requestId }: Answer): RemovalPage {
  const data = isObject(body) ? body.data : undefined
  const tenant = isObject(data) ? data.tenant : undefined
  const page = isObject(tenant) ? tenant.removals : undefined
  if (!isRemovalPage(page)) throw invalidResponse(requestId)
  return page
}

/** Checks a page, but not its records: their type is the schema's promise. */
const isRemovalPage = (page: unknown): page is RemovalPage =>
  isObject(page) &&
  Array.isArray(page.records) &&
  isCursor(page.nextCursor) &&
  typeof page.serverTime === 'string' &&
  typeof page.epoch === 'number'
