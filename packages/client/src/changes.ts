/** Changes: which lists changed, over GraphQL. Without them, a client asks each list. */
import { array, boolean, count, id, instant, object, parse, text } from './check.ts'
import { Changes } from './documents.ts'
import { runQuery } from './graphql.ts'
import { toInstant } from './list.ts'
import { type TenantListName, tenantListNames } from './reads.ts'
import type { CallOptions, Transport } from './transport.ts'

/** Options of a call for changes. */
export interface ChangeOptions extends CallOptions {
  /** Only changes after this time: the `serverTime` of the former answer, with all digits. Default: all lists. */
  after?: string | Date | undefined
  /** Only lists of these tenants, at most 100; default: all that the token may read. */
  tenants?: readonly number[] | undefined
}

/** A list that changed: read its removals, and then the list. */
export interface ListChange {
  tenantId: number
  /** `tenants`: the tenant itself, or a tenant that left from below it. */
  list: 'tenants' | TenantListName
  /** The time of its last change. */
  since: string
}

/** The lists that changed. */
export interface ListChanges {
  /** Each list once. */
  lists: ListChange[]
  /** The time up to which these are all. */
  serverTime: string
  /** Grows when all copies must be rebuilt. */
  epoch: number
  /** Another text when the token is authorised for other tenants, or has other permissions. */
  access: string
  /** What is left of the rate limit, for the pace of the calls; null: the answer does not say. */
  rate: { remaining: number; resetsIn: number } | null
}

const response = object({
  data: object({
    changes: object({
      lists: array(object({ tenantId: id, list: text, since: instant })),
      serverTime: instant,
      hasMore: boolean,
      epoch: count,
      access: text,
    }),
  }),
})

/** The lists that this version knows, by their names in GraphQL. */
const names = new Map(
  (['tenants', ...tenantListNames] as const).map(name => [name.replace('-', '_').toUpperCase(), name] as const),
)

const rateOf = (headers: Headers): ListChanges['rate'] => {
  const [remaining, resetsIn] = ['ratelimit-remaining', 'ratelimit-reset'].map(name => headers.get(name) ?? '')
  const isRate = [remaining, resetsIn].every(text => text !== undefined && /^\d{1,9}$/.test(text))
  return isRate ? { remaining: Number(remaining), resetsIn: Number(resetsIn) } : null
}

/** Reads which lists changed. An answer has at most some thousands of lists, so the client asks until no more are left. */
export async function readChanges(
  transport: Transport,
  { after: given, tenants, signal }: ChangeOptions,
): Promise<ListChanges> {
  const lists = new Map<string, ListChange>()
  for (let after = toInstant(given); ; ) {
    const { body, requestId, headers } = await runQuery(transport, Changes, { after, tenants }, { signal })
    const { hasMore, serverTime, epoch, access, ...found } = parse(response, body, requestId).data.changes
    for (const { tenantId, list: name, since } of found.lists) {
      const list = names.get(name)
      if (list) lists.set(`${tenantId} ${list}`, { tenantId, list, since })
    }
    // An answer that does not move on would be asked for without end.
    if (!hasMore || serverTime === after)
      return { lists: [...lists.values()], serverTime, epoch, access, rate: rateOf(headers) }
    after = serverTime
  }
}
