import type { Pool } from '../../src/db/sql.ts'
import { createChangeStreams } from '../../src/domain/event/change-streams.ts'
import { createHeadFeed } from '../../src/domain/event/head-feed.ts'
import { createCursorCipher } from '../../src/domain/paging/cursor.ts'
import { ExpensiveRequests } from '../../src/domain/rate/expensive-requests.ts'
import { RateWindows } from '../../src/domain/rate/windows.ts'
import { createIssuer } from '../../src/domain/record/redemption-token.ts'
import { createPrivateScalar, toKeySet } from '../../src/domain/record/signing-key.ts'
import type { Permission } from '../../src/domain/token/permission.ts'
import { createTenantScope } from '../../src/domain/token/scope.ts'
import { type Context, createContext, type Gateway } from '../../src/graphql/context.ts'

interface TestCaller {
  tokenId: number
  tenants: number[]
  permissions: readonly Permission[]
}

/**
 * Creates the dependencies of resolvers, without a transport. @returns a function that makes the context of one request
 */
export function createContexts(pool: Pool): (caller: TestCaller) => Context {
  const keySet = toKeySet([createPrivateScalar()])
  const feed = createHeadFeed(pool, () => {})
  const gateway: Gateway = {
    pool,
    recordPool: pool,
    feed,
    changeStreams: createChangeStreams(feed),
    cursors: createCursorCipher(Buffer.alloc(32, 7)),
    scope: createTenantScope(pool),
    rate: { limit: 1_000_000, counter: new RateWindows() },
    expensiveRequests: new ExpensiveRequests(),
    issueRedemptionToken: createIssuer({ issuer: 'test', audience: 'test', timeToLive: 900 }, () => keySet),
    serviceId: 'test',
  }
  const window = { used: 1, resetsIn: 60_000 }
  const isWaiting = () => true
  const caller = { address: '127.0.0.1', requestId: 'test', rate: gateway.rate, rateKey: 'test', window, isWaiting }
  return ({ tokenId, tenants, permissions }) =>
    createContext(gateway, {
      ...caller,
      cost: 0,
      rejectedCost: 0,
      requestedCost: 1,
      lookUp: () => ({ status: 'unknown' }),
      token: {
        id: tokenId,
        name: 'Sync',
        permissions: [...permissions],
        tenants: tenants.map(tenantId => ({ tenantId, withDescendants: false })),
        rateLimit: null,
        expiresAt: null,
      },
    })
}
