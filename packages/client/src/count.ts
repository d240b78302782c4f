/** The number of records of a list. v1 does not count; GraphQL does. */

import { count, object, parse } from './check.ts'
import { runQuery } from './graphql.ts'
import { type TenantListName, tenantLists } from './reads.ts'
import type { CallOptions, Transport } from './transport.ts'

const response = object({ data: object({ tenant: object({ list: object({ totalCount: count }) }) }) })

/** Counts the records of a list. */
export async function countRecords(
  transport: Transport,
  tenant: number,
  list: TenantListName,
  options: CallOptions,
): Promise<number> {
  const { body, requestId } = await runQuery(transport, tenantLists[list].count, { tenant }, options)
  return parse(response, body, requestId).data.tenant.list.totalCount
}
