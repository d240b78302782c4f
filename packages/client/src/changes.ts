/** Reads over GraphQL which lists have changed, so that a client does not need to request every list. */
import type { Answer } from './answer-error.ts'
import { array, boolean, count, id, instant, object, parse, text } from './check.ts'
import { Changes } from './documents.ts'
import { runQuery } from './graphql.ts'
import { toInstant } from './list.ts'
import { type TenantListName, tenantListNames } from './reads.ts'
import type { CallOptions, Transport } from './transport.ts'

export interface ChangeOptions extends CallOptions {
  /**
   * Returns only changes after this time. Pass the `serverTime` of the previous answer with all its digits. Default:
   * all lists.
   */
  after?: string | Date | undefined
  /** Returns only lists of these tenants, at most 100 tenants. Default: all tenants that the token may read. */
  tenants?: readonly number[] | undefined
}

/** A list that changed: read its removals, and then the list. */
export interface ListChange {
  tenantId: number
  /** `tenants` means that the tenant itself changed, or that a tenant below it was removed or moved. */
  list: 'tenants' | TenantListName
  /** The time of the list's last change. */
  since: string
}

/** The lists that changed, and the time up to which the answer is complete. */
export interface ListChanges {
  /** Each list once. */
  lists: ListChange[]
  /** The answer includes all changes up to this time. Pass the time as `after` in the next call. */
  serverTime: string
  /** A number that grows when every copy must be read again from the beginning. */
  epoch: number
  /** A text that changes when the token gets other tenants or permissions. */
  access: string
  /**
   * The remaining rate limit, from which a caller can derive the interval of its calls; null when the answer has no
   * rate limit.
   */
  rate: { remaining: number; resetsIn: number } | null
}

const responseCheck = object({
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

/** Returns the name of a list in GraphQL. */
export const toGraphqlName = (list: ListChange['list']): string => list.replace('-', '_').toUpperCase()

/** The lists that this version of the client knows. The key is the name of the list in GraphQL. */
const namesByGraphqlName = new Map(
  (['tenants', ...tenantListNames] as const).map(name => [toGraphqlName(name), name] as const),
)

/** Returns the changes of an answer, without lists that this version does not know. @throws VoucherGatewayError */
export function parseChanges({ body, requestId }: Pick<Answer, 'body' | 'requestId'>) {
  const { lists: found, ...changes } = parse(responseCheck, body, requestId).data.changes
  const lists = found.flatMap(({ tenantId, list: name, since }): ListChange[] => {
    const list = namesByGraphqlName.get(name)
    return list ? [{ tenantId, list, since }] : []
  })
  return { ...changes, lists }
}

const rateOf = (headers: Headers): ListChanges['rate'] => {
  const [remaining, resetsIn] = ['ratelimit-remaining', 'ratelimit-reset'].map(name => headers.get(name) ?? '')
  const isRate = [remaining, resetsIn].every(text => text !== undefined && /^\d{1,9}$/.test(text))
  return isRate ? { remaining: Number(remaining), resetsIn: Number(resetsIn) } : null
}

/**
 * Reads which lists changed. One answer has at most a few thousand lists, so the client sends requests until no lists
 * are left.
 */
export async function readChanges(
  transport: Transport,
  { after: given, tenants, signal }: ChangeOptions,
): Promise<ListChanges> {
  const lists = new Map<string, ListChange>()
  for (let after = toInstant(given); ; ) {
    const answer = await runQuery(transport, Changes, { after, tenants }, { signal })
    const { hasMore, serverTime, epoch, access, ...found } = parseChanges(answer)
    for (const change of found.lists) lists.set(`${change.tenantId} ${change.list}`, change)
    // An answer with more lists but the same position would cause an endless loop.
    if (!hasMore || serverTime === after)
      return { lists: [...lists.values()], serverTime, epoch, access, rate: rateOf(answer.headers) }
    after = serverTime
  }
}
