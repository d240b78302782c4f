import { METHODS } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { getOperationAST, parse } from 'graphql'
import { type FieldErrors, GatewayError } from '../../domain/errors.ts'
import { mapMaybePromise } from '../../domain/maybe-promise.ts'
import type { Permission } from '../../domain/permission.ts'
import { createContext, type Gateway } from '../../graphql/context.ts'
import type { Authenticate } from '../../http/caller.ts'
import { sendError, toGatewayError, toMessageBody } from '../../http/errors.ts'
import { requireJsonHeaders } from '../../http/headers.ts'
import { restPath } from '../../http/paths.ts'
import { refuseUnknownPaths } from '../../http/unknown-path.ts'
import { type Operation, permissionsOf, prepareOperation, type TypedText } from '../prepare-operation.ts'
import { type Input, readCatalogQuery, readListQuery, readNothing, readPath, readResolveBody } from './input.ts'
import * as documents from './operations.ts'

/**
 * The contract's eight operations, in its order. Each is a GraphQL document (the `.graphql` files beside this one);
 * what is said here is its path, what it returns, and how a request gives the document's variables.
 */
export const operations: readonly RestOperation[] = [
  operation('GET', '/tenants', documents.ListTenantsDocument, readListQuery, 'A page of the tenants of the token.'),

  operation(
    'GET',
    '/tenants/:tenant/catalog/vouchers',
    documents.ListCatalogVouchersDocument,
    readCatalogQuery,
    'A page of voucher products.',
  ),
  operation(
    'GET',
    '/tenants/:tenant/catalog/vouchers/:product',
    documents.GetCatalogVoucherDocument,
    readNothing,
    'One voucher product, with its categories and variants.',
  ),

  operation(
    'GET',
    '/tenants/:tenant/sales/purchased-vouchers',
    documents.ListPurchasedVouchersDocument,
    readListQuery,
    'A page of purchased vouchers, with their balances.',
  ),
  operation(
    'GET',
    '/tenants/:tenant/sales/purchased-vouchers/:voucher',
    documents.GetPurchasedVoucherDocument,
    readNothing,
    'One purchased voucher, with its balance.',
  ),

  operation(
    'GET',
    '/tenants/:tenant/customers/marketing-signups',
    documents.ListMarketingSignupsDocument,
    readListQuery,
    'A page of customers who opted in to marketing. Personal data.',
  ),
  operation(
    'GET',
    '/tenants/:tenant/customers/marketing-signups/:customer',
    documents.GetMarketingSignupDocument,
    readNothing,
    'One customer who opted in to marketing. Personal data.',
  ),

  operation(
    'POST',
    '/tenants/:tenant/redemptions/resolve',
    documents.ResolveVoucherDocument,
    readResolveBody,
    'Whether a voucher is redeemable, what it is worth, and a token to redeem it with. Redeems nothing.',
  ),
]

/** The longest body that is read, in bytes (R9). */
const bodyLimit = 64 * 1024

/** The v1 names of the arguments in which the schema finds errors. */
const v1Names: Record<string, string> = {
  after: 'cursor',
  updatedSince: 'updated_since',
  qrToken: 'qr_token',
  voucherReference: 'voucher_reference',
}

/**
 * Registers the REST door. In R1's order: the caller and the rate, then the headers; the rest of it, from tenant to
 * record, is the schema's.
 */
export function registerRest(app: FastifyInstance, gateway: Gateway, authenticate: Authenticate): void {
  app.register(
    async scope => {
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser('*', { parseAs: 'string', bodyLimit }, (_request, body, done) => done(null, body))
      scope.addHook('onRequest', authenticate)
      scope.setErrorHandler((error, request, reply) =>
        sendError(request, reply, withV1Names(toGatewayError(error)), toMessageBody),
      )
      refuseUnknownPaths(scope)
      for (const method of METHODS) {
        if (method !== 'CONNECT' && !app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: true })
      }
      for (const { name, method, path, run, read } of operations) {
        scope.route({
          method,
          url: path,
          config: { operation: name },
          exposeHeadRoute: false,
          onRequest: (request, _reply, done) => {
            requireJsonHeaders(request, method === 'POST')
            done()
          },
          handler: (request, reply) => {
            const { variables, fieldErrors } = read(request)
            return mapMaybePromise(run(createContext(gateway, request.caller, fieldErrors), variables), body =>
              reply.type('application/json; charset=utf-8').send(body),
            )
          },
        })
        scope.route({
          method: app.supportedMethods.filter(other => other !== method),
          url: path,
          // Not in the handler: by then a body has been read, and may have been refused for itself.
          onRequest: async (_request, reply) => {
            reply.header('Allow', method)
            throw new GatewayError('METHOD_NOT_ALLOWED', `Only ${method} is allowed here.`)
          },
          handler: () => {},
        })
      }
    },
    { prefix: restPath },
  )
}

type PathNames<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathNames<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never

/** An operation as the door serves it. */
export interface RestOperation {
  name: string
  method: 'GET' | 'POST'
  /** Below `restPath`; its parameters are written `:tenant`. */
  path: string
  /** What the token needs, all of it. */
  permissions: readonly Permission[]
  /** What it returns, in a sentence. */
  returns: string
  run: Operation
  read: (request: FastifyRequest) => Input<object>
}

/** What a document calls its operation. */
function nameOf(document: { toString(): string }): string {
  return getOperationAST(parse(document.toString()))?.name?.value ?? 'unknown'
}

/** One operation: its document's variables are the identifiers in its path, and what `read` finds in the request. */
function operation<const Path extends string, Variables extends Record<PathNames<Path>, string | number>>(
  method: 'GET' | 'POST',
  path: Path,
  document: TypedText<Variables>,
  read: (request: FastifyRequest) => Input<Omit<Variables, PathNames<Path>>>,
  returns: string,
): RestOperation {
  return {
    name: nameOf(document),
    method,
    path,
    permissions: permissionsOf(document.toString()),
    returns,
    run: prepareOperation(document),
    read: request => {
      const { variables, fieldErrors } = read(request)
      return { variables: Object.assign(readPath(request), variables), fieldErrors }
    },
  }
}

/** The same refusal, with its errors under the names that v1 gives the fields. */
function withV1Names(refusal: GatewayError): GatewayError {
  if (!refusal.fieldErrors) return refusal
  const fieldErrors: FieldErrors = {}
  for (const [name, sentences] of Object.entries(refusal.fieldErrors)) fieldErrors[v1Names[name] ?? name] = sentences
  return new GatewayError(refusal.code, refusal.message, { fieldErrors })
}
