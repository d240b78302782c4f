/** How many records a list has. v1 does not count; GraphQL does. */

import { CountCatalogVouchers, CountMarketingSignups, CountPurchasedVouchers } from './documents.ts'
import { runQuery, type TrustedDocument } from './graphql.ts'
import { isObject } from './json.ts'
import { invalidResponse } from './list.ts'
import type { CallOptions, Transport } from './transport.ts'

/** The lists of a tenant, by the names that their exports have. */
export type CountedList = 'catalog-vouchers' | 'purchased-vouchers' | 'marketing-signups'

const documents: Record<CountedList, TrustedDocument> = {
  'catalog-vouchers': CountCatalogVouchers,
  'purchased-vouchers': CountPurchasedVouchers,
  'marketing-signups': CountMarketingSignups,
}

/** Counts the records of a list. */
export async function countRecords(
  transport: Transport,
  tenant: number,
  list: CountedList,
  options: CallOptions,
): Promise<number> {
  const { body, requestId } = await runQuery(transport, documents[list], { tenant }, options)
  const data = isObject(body) && isObject(body.data) ? body.data : {}
  const counted = isObject(data.tenant) && isObject(data.tenant.list) ? data.tenant.list.totalCount : undefined
  if (typeof counted !== 'number') throw invalidResponse(requestId)
  return counted
}
