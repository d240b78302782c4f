/** The calls that a comparison measures: all of v1, and the same over `/graphql`. */
import type { Body } from '../harness/contract.ts'
import {
  type HttpRequest,
  type OperationName,
  operationNames,
  type Sample,
  send,
  type Transport,
} from '../harness/operations.ts'

/** A call, over one of the transports. */
export interface ComparedCall {
  name: string
  transport: 'rest' | 'graphql'
  operation: OperationName
}

export const comparedCalls: ComparedCall[] = (['rest', 'graphql'] as const).flatMap(transport =>
  operationNames.map(operation => ({ name: `${transport} ${operation}`, transport, operation })),
)

/** For each operation on a single record, the list that the records are taken from. */
const listOf: Partial<Record<OperationName, OperationName>> = {
  GetPurchasedVoucher: 'ListPurchasedVouchers',
  GetCatalogVoucher: 'ListCatalogVouchers',
  GetMarketingSignup: 'ListMarketingSignups',
  ResolveVoucher: 'ListPurchasedVouchers',
}

/** The number of pages of a list that are read. After that the list of requests repeats. */
const pages = 8

/** A service that answers, and how requests are sent to it. */
interface Service {
  origin: string
  transport: Transport
}

/**
 * Finds the ids to request through a service itself, so that nothing depends on its tables.
 *
 * @param first the service whose lists name the single records: all services are asked for the same records
 * @param service the service that is asked
 * @returns the requests of one call
 */
export async function readRequests(
  first: Service,
  service: Service,
  operation: OperationName,
  tenant: number,
): Promise<HttpRequest[]> {
  const list = listOf[operation]
  if (!list) return (await readPages(service, operation, tenant)).map(({ request }) => request)
  const records = (await readPages(first, list, tenant)).flatMap(({ body }) => recordsOf(body))
  return records.map(({ id, reference }) => {
    const sample: Sample =
      operation === 'ResolveVoucher' ? { tenant, reference: String(reference) } : { tenant, id: Number(id) }
    return service.transport.request(operation, sample)
  })
}

const recordsOf = ({ data }: Body) => data as Body[]

async function readPages({ origin, transport }: Service, operation: OperationName, tenant: number) {
  const found: { request: HttpRequest; body: Body }[] = []
  let sample: Sample | null = { tenant }
  while (sample !== null && found.length < pages) {
    const request = transport.request(operation, sample)
    const body = transport.read(operation, JSON.parse(await send(origin, request)))
    found.push({ request, body })
    sample = typeof body.next_cursor === 'string' ? { tenant, cursor: body.next_cursor } : null
  }
  return found
}

/** @returns the text of an answer without its stamps, cursors, redemption tokens and quota, which differ in each answer */
export const maskAnswer = (text: string): string =>
  text.replace(
    /"(next_?cursor|server_?time|updated_?at|redemption_?token|remaining|resetsIn)":("[^"]*"|\d+)/gi,
    '"$1":"…"',
  )
