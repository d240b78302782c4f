/** Requests for the operations of v1, over REST and over GraphQL. */
import { type Body, contractOperation } from './contract.ts'

/** A request, as the load process sends it. */
export interface HttpRequest {
  method: 'GET' | 'POST'
  path: string
  headers: Record<string, string>
  body?: string
}

/** The arguments of one request. */
export interface Sample {
  tenant: number
  cursor?: string
  updatedSince?: string
  id?: number
  reference?: string
}

/** The paths of v1's operations, by the names of their documents. */
const paths = {
  ListTenants: '/tenants',
  ListPurchasedVouchers: '/tenants/:tenant/sales/purchased-vouchers',
  GetPurchasedVoucher: '/tenants/:tenant/sales/purchased-vouchers/:id',
  ListCatalogVouchers: '/tenants/:tenant/catalog/vouchers',
  GetCatalogVoucher: '/tenants/:tenant/catalog/vouchers/:id',
  ListMarketingSignups: '/tenants/:tenant/customers/marketing-signups',
  GetMarketingSignup: '/tenants/:tenant/customers/marketing-signups/:id',
  ResolveVoucher: '/tenants/:tenant/redemptions/resolve',
} as const

export type OperationName = keyof typeof paths

export const operationNames = Object.keys(paths) as OperationName[]

/** The way to ask a server and to read its answers. */
export interface Transport {
  request(operation: OperationName, sample: Sample): HttpRequest
  /**
   * @param body the body of a 200
   * @returns v1's body; over GraphQL, fields that v1 omits are null
   * @throws when it reports errors
   */
  read(operation: OperationName, body: Body): Body
}

const headersFor = (secret: string, posting: boolean) => ({
  accept: 'application/json',
  authorization: `Bearer ${secret}`,
  ...(posting ? { 'content-type': 'application/json' } : {}),
})

/** @returns the transport of v1's paths */
export const restTransport = (secret: string): Transport => ({
  request(operation, { tenant, id, cursor, updatedSince, reference }) {
    const path = `/api/external/v1${paths[operation]}`.replace(':tenant', String(tenant)).replace(':id', String(id))
    if (operation === 'ResolveVoucher') {
      const body = JSON.stringify({ voucher_reference: reference })
      return { method: 'POST', path, headers: headersFor(secret, true), body }
    }
    const query = new URLSearchParams({
      ...(cursor === undefined ? {} : { cursor }),
      ...(updatedSince === undefined ? {} : { updated_since: updatedSince }),
    })
    return { method: 'GET', path: query.size > 0 ? `${path}?${query}` : path, headers: headersFor(secret, false) }
  },
  read: (_, body) => body,
})

/** @returns the transport of `/graphql` */
export const graphqlTransport = (secret: string): Transport => ({
  request(operation, { tenant, id, cursor, updatedSince, reference }) {
    const { query, idVariable } = contractOperation(operation)
    const variables = {
      ...(operation === 'ListTenants' ? {} : { tenant: String(tenant) }),
      ...(idVariable === undefined ? {} : { [idVariable]: String(id) }),
      ...(cursor === undefined ? {} : { cursor }),
      ...(updatedSince === undefined ? {} : { updated_since: updatedSince }),
      ...(reference === undefined ? {} : { voucher_reference: reference }),
    }
    const body = JSON.stringify({ query, variables })
    return { method: 'POST', path: '/graphql', headers: headersFor(secret, true), body }
  },
  read(operation, body) {
    if (body.errors) throw new Error(`GraphQL errors: ${JSON.stringify(body.errors).slice(0, 500)}`)
    return contractOperation(operation).readBody(body.data)
  },
})

/**
 * Sends one request.
 *
 * @returns the text of the answer
 * @throws when its status is not 200
 */
export async function send(origin: string, { path, ...init }: HttpRequest): Promise<string> {
  const response = await fetch(new URL(path, origin), init)
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path} is answered with ${response.status}: ${text.slice(0, 300)}`)
  return text
}
