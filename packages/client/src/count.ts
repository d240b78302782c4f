/** The number of records of a list. v1 does not count; GraphQL does. */

import { count, object, parse } from './check.ts'
import { CountCatalogVouchers, CountMarketingSignups, CountPurchasedVouchers } from './documents.ts'
import { runQuery, type TrustedDocument } from './graphql.ts'
import type { CallOptions, Transport } from './transport.ts'

/** The lists of a tenant, by the names that their exports have. */
export type CountedList = 'catalog-vouchers' | 'purchased-vouchers' | 'marketing-signups'

const documents: Record<CountedList, TrustedDocument> = {
  'catalog-vouchers': CountCatalogVouchers,
  'purchased-vouchers': CountPurchasedVouchers,
  'marketing-signups': CountMarketingSignups,
}

const response = object({ data: object({ tenant: object({ list: object({ totalCount: count }) }) }) })

/** Counts the records of a list. */
export async function countRecords(
  transport: Transport,
  tenant: number,
  list: CountedList,
  options: CallOptions,
): Promise<number> {
  const { body, requestId } = await runQuery(transport, documents[list], { tenant }, options)
  return parse(response, body, requestId).data.tenant.list.totalCount
}
