/** Makes the answers of v1 about a record without an HTTP server. */
import { randomBytes } from 'node:crypto'
import type { KeyState } from '../../adoption/show.ts'
import type { Pool, Transaction } from '../../db/sql.ts'
import { createChangeStreams } from '../../domain/event/change-streams.ts'
import { createHeadFeed } from '../../domain/event/head-feed.ts'
import { createCursorCipher } from '../../domain/paging/cursor.ts'
import { RateWindows } from '../../domain/rate/windows.ts'
import { createIssuer } from '../../domain/record/redemption-token.ts'
import { createPrivateScalar, toKeySet } from '../../domain/record/signing-key.ts'
import { createToken } from '../../domain/token/lifecycle.ts'
import { permissionNames } from '../../domain/token/permission.ts'
import { createTenantScope } from '../../domain/token/scope.ts'
import { getToken } from '../../domain/token/token.ts'
import { Loaders } from '../../graphql/loaders.ts'
import { statusOf, toGatewayError, toMessageBody } from '../../http/errors.ts'
import { renameFields } from '../../rest/register.ts'
import { v1 } from '../../rest/v1/routes.ts'
import { commandLineActor } from '../terminal/actor.ts'

/**
 * The operations of v1 that show a record of a type, by the type. Categories and variants are shown as parts of
 * products.
 */
const operationsByType: Record<string, readonly string[]> = {
  tenant: ['ListTenants'],
  product: ['GetCatalogVoucher'],
  voucher: ['GetPurchasedVoucher', 'ResolveVoucher'],
  customer: ['GetMarketingSignup'],
}

export interface Answer {
  /** The method and the path of the request. */
  request: string
  status: number
  body: unknown
}

/** Returns the answers of v1 to a token with all permissions. */
export async function readAnswers(
  pool: Pool,
  transaction: Transaction,
  record: string,
  { record: stored, tenantId }: KeyState,
): Promise<Answer[]> {
  if (!stored || tenantId === null) return []
  const { id } = await createToken(transaction, commandLineActor(), {
    ...{ name: 'adopt show', contact: null, permissions: [...permissionNames], rateLimit: null, expiresAt: null },
    tenants: [{ tenantId, withDescendants: false }],
  })
  const token = await getToken(transaction, id)
  const rate = { limit: Infinity, counter: new RateWindows() }
  const keySet = toKeySet([createPrivateScalar()])
  const issueRedemptionToken = createIssuer({ issuer: 'adopt show', audience: '', timeToLive: 0 }, () => keySet)
  const variables: Record<string, string> = { tenant: `${tenantId}`, [record]: `${stored.id}` }
  const answers: Answer[] = []
  for (const { name, method, path, run, argumentNames } of v1.operations) {
    if (!operationsByType[record]?.includes(name)) continue
    const request = `${method} ${v1.path}${path.replaceAll(/:(\w+)/g, (_, name) => `${variables[name]}`)}`
    try {
      const body = await transaction.savepoint(sql => {
        const caller = {
          ...{ token, rate, address: '', requestId: '', rateKey: '', window: { used: 0, resetsIn: 1 } },
          ...{ lookUp: () => ({ status: 'active' as const, token }), isWaiting: () => true },
          ...{ cost: 0, rejectedCost: 0, requestedCost: 1 },
        }
        const context = {
          ...{ sql, records: sql, caller, fieldErrors: {}, issueRedemptionToken, serviceId: '' },
          changeStreams: createChangeStreams(createHeadFeed(sql, () => {})),
          cursors: createCursorCipher(randomBytes(32)),
          scope: createTenantScope(sql),
          loaders: new Loaders({ pool, sql, records: sql, caller, group: {} }),
        }
        return run(context, { ...variables, voucher_reference: stored.reference })
      })
      answers.push({ request, status: 200, body: JSON.parse(String(body)) })
    } catch (error) {
      const refusal = renameFields(toGatewayError(error), argumentNames)
      answers.push({ request, status: statusOf[refusal.code], body: toMessageBody(refusal) })
    }
  }
  return answers
}
