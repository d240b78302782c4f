import { type CursorCipher, createCursorCipher, type ListIdentity } from '../../src/domain/cursor.ts'
import { products } from '../../src/domain/product.ts'
import { vouchers } from '../../src/domain/voucher.ts'
import {
  GetPurchasedVoucherDocument,
  ListCatalogVouchersDocument,
  ListPurchasedVouchersDocument,
  ResolveVoucherDocument,
} from '../../src/rest/v1/operations.ts'
import { writeCursor } from '../contenders/cursor.ts'
import type { Operation, Sample } from './calls.ts'
import { questionOf } from './documents.ts'

/** A request, as the load process sends it. */
export interface Asked {
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  body?: string
}

/** What was answered, in the form in which contenders are compared. */
export interface Answer {
  data: unknown
  /** Whether a list goes on. */
  more: boolean
}

/** How a contender is asked, and how its answers are understood. */
export interface Door {
  ask(operation: Operation, sample: Sample, origin: string): Asked | Promise<Asked>
  /** @param body the body of a 200 */
  read(operation: Operation, body: unknown): Answer
}

/** How a contender writes the place that a page comes after. */
export type CursorWriter = (operation: Operation, sample: Sample) => string | null

/** The service's cursors are sealed; whoever has the key can point anywhere. */
export function encryptedCursors(key: Buffer): CursorWriter {
  const cipher: CursorCipher = createCursorCipher(key)
  const lists: Partial<Record<Operation, (tenant: number) => ListIdentity>> = {
    vouchers: vouchers.listOf,
    products: products.listOf,
  }
  return (operation, { tenant, after }) => {
    const list = lists[operation]
    return after && list ? cipher.encrypt(list(tenant), { ...after, updatedSince: null }) : null
  }
}

/** The others' can be read by anyone. */
export const plainCursors: CursorWriter = (_operation, { after }) => (after ? writeCursor(after) : null)

/** A redemption token is another each time: whether there is one is what counts. */
function comparable(body: Record<string, unknown>): Answer {
  const data = body.data as Record<string, unknown>
  if (typeof data.redemption_token === 'string') data.redemption_token = 'issued'
  return { data, more: typeof body.next_cursor === 'string' }
}

const headersFor = (secret: string, posting: boolean) => ({
  accept: 'application/json',
  authorization: `Bearer ${secret}`,
  ...(posting ? { 'content-type': 'application/json' } : {}),
})

/** v1's paths. */
export function restDoor(secret: string, cursors: CursorWriter): Door {
  const lists = { vouchers: 'sales/purchased-vouchers', products: 'catalog/vouchers' }
  return {
    ask(operation, sample) {
      const tenant = `/api/external/v1/tenants/${sample.tenant}`
      if (operation === 'resolve') {
        const body = JSON.stringify({ voucher_reference: sample.reference })
        return { method: 'POST', path: `${tenant}/redemptions/resolve`, headers: headersFor(secret, true), body }
      }
      const headers = headersFor(secret, false)
      if (operation === 'voucher') return { method: 'GET', path: `${tenant}/${lists.vouchers}/${sample.id}`, headers }
      const query = new URLSearchParams()
      const cursor = cursors(operation, sample)
      if (cursor !== null) query.set('cursor', cursor)
      if (sample.updatedSince !== undefined) query.set('updated_since', sample.updatedSince)
      const suffix = query.size > 0 ? `?${query}` : ''
      return { method: 'GET', path: `${tenant}/${lists[operation]}${suffix}`, headers }
    },
    read: (_operation, body) => comparable(body as Record<string, unknown>),
  }
}

const questions = {
  vouchers: questionOf(ListPurchasedVouchersDocument.toString()),
  products: questionOf(ListCatalogVouchersDocument.toString()),
  voucher: questionOf(GetPurchasedVoucherDocument.toString()),
  resolve: questionOf(ResolveVoucherDocument.toString()),
}

/** A question of any kind to `/graphql`. */
export const graphqlRequest = (secret: string, query: string, variables: object): Asked => ({
  method: 'POST',
  path: '/graphql',
  headers: headersFor(secret, true),
  body: JSON.stringify({ query, variables }),
})

/** @throws when the response tells of errors */
export function dataOf(body: unknown): unknown {
  const { data, errors } = body as { data?: unknown; errors?: unknown }
  if (errors) throw new Error(`GraphQL errors: ${JSON.stringify(errors).slice(0, 500)}`)
  return data
}

/** GraphQL over HTTP, with the service's own schema or a part of it. */
export function graphqlDoor(secret: string, cursors: CursorWriter): Door {
  return {
    ask(operation, sample) {
      const cursor = cursors(operation, sample)
      return graphqlRequest(secret, questions[operation].query, {
        tenant: String(sample.tenant),
        ...(cursor === null ? {} : { cursor }),
        ...(sample.updatedSince === undefined ? {} : { updated_since: sample.updatedSince }),
        ...(sample.id === undefined ? {} : { voucher: String(sample.id) }),
        ...(sample.reference === undefined ? {} : { voucher_reference: sample.reference }),
      })
    },
    read: (operation, body) => comparable(questions[operation].toV1(dataOf(body))),
  }
}
