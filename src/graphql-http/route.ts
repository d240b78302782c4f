import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GraphQLError, getOperationAST } from 'graphql'
import { createYoga, type Plugin } from 'graphql-yoga'
import Negotiator from 'negotiator'
import { badInput, GatewayError } from '../domain/errors.ts'
import type { Caller } from '../domain/token/caller.ts'
import type { Gateway } from '../graphql/context.ts'
import { schema } from '../graphql/schema.ts'
import type { Authenticate } from '../http/caller.ts'
import { holdRefusal, OverloadError, sendError, statusOf, toGatewayError } from '../http/errors.ts'
import { graphqlPath } from '../http/paths.ts'
import { createCompiledQueryCache } from './compiled-query-cache.ts'
import { addCost, costOf, costReporting, writeSpentRate } from './cost.ts'
import {
  errorReporting,
  maskError,
  recordErrors,
  shownValidationErrors,
  toErrorsBody,
  writeRetryAfter,
} from './errors.ts'
import { limitPlugins } from './limits.ts'
import { rememberRejected } from './rejected-documents.ts'
import { readGraphqlRequest } from './request.ts'
import { type TrustedDocuments, trustedDocumentsPlugin } from './trusted-documents.ts'

const methods = ['GET', 'POST']

/** The name under which all requests of this route are counted: what they ask is in their documents. */
const operation = 'GraphQL'

/** The media types in which Yoga may answer: it has others, for subscriptions. */
const mediaTypes = ['application/json', 'application/graphql-response+json']

/** The longest request body, in bytes. */
const bodyLimit = 100 * 1024

/** Reports a query string whose `variables` are not JSON: Yoga reports an internal error, with the parser's message. */
const unreadableParameters: Plugin = {
  onRequestParse({ requestParser, setRequestParser }) {
    if (!requestParser) return
    setRequestParser(async request => {
      try {
        return await requestParser(request)
      } catch (error) {
        if (error instanceof GraphQLError && error.extensions.originalError === undefined) throw error
        const extensions = { code: 'BAD_REQUEST', http: { status: 400 } }
        throw new GraphQLError('The request is not valid JSON.', { extensions })
      }
    })
  },
}

/** Records the name of the operation that Yoga executes: its document is valid. */
const operationNames: Plugin<{ req: FastifyRequest }> = {
  onExecute({ args: { document, operationName, contextValue } }) {
    contextValue.req.graphqlOperation = getOperationAST(document, operationName)?.name?.value
  },
}

/** Returns the body of a response, with the errors first as graphql-js has them. */
const toBody = (data: Buffer, errors: readonly GraphQLError[], caller: Caller): Buffer =>
  Buffer.concat([
    Buffer.from(errors.length > 0 ? `{"errors":${JSON.stringify(errors)},"data":` : '{"data":'),
    data,
    Buffer.from(`,"extensions":{"cost":${JSON.stringify(costOf(caller))}}}`),
  ])

/**
 * Registers the GraphQL transport: GraphQL over HTTP, by Yoga, for the same callers as REST.
 *
 * @param authenticate finds the caller and counts one quota unit
 * @param documents those that requests may name by their id
 */
export function registerGraphql(
  app: FastifyInstance,
  gateway: Gateway,
  authenticate: Authenticate,
  documents: TrustedDocuments,
): void {
  app.shedPaths.push({ prefix: graphqlPath, body: JSON.stringify(toErrorsBody(new OverloadError())) })
  const queries = createCompiledQueryCache(gateway)
  const yoga = createYoga<{ req: FastifyRequest; reply: FastifyReply }>({
    schema,
    graphqlEndpoint: graphqlPath,
    context: ({ req: { caller } }) => ({ caller }),
    plugins: [
      unreadableParameters,
      trustedDocumentsPlugin(documents),
      shownValidationErrors,
      ...limitPlugins(queries.execute),
      queries.rememberValid,
      rememberRejected(),
      operationNames,
      errorReporting,
      costReporting,
    ],
    maskedErrors: { maskError },
    parserAndValidationCache: queries.caches,
    batching: false,
    cors: false,
    graphiql: false,
    landingPage: false,
    logging: false,
  })

  app.register(async scope => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('application/json', { parseAs: 'string', bodyLimit }, (_request, body, done) =>
      done(null, body),
    )
    scope.setErrorHandler((error, request, reply) =>
      sendError(request, reply, toGatewayError(error), shown => addCost(request, reply, toErrorsBody(shown))),
    )
    scope.addHook('onRequest', authenticate)
    const rejectMethod = async (_request: FastifyRequest, reply: FastifyReply) => {
      reply.header('Allow', methods.join(', '))
      throw new GatewayError('METHOD_NOT_ALLOWED', `Only ${methods.join(' and ')} are allowed here.`)
    }
    scope.route({
      url: graphqlPath,
      config: { operation },
      method: scope.supportedMethods.filter(method => !methods.includes(method)),
      onRequest: rejectMethod,
      handler: rejectMethod,
    })
    scope.route({
      url: graphqlPath,
      config: { operation },
      method: methods,
      exposeHeadRoute: false,
      handler: async (req, reply) => {
        const accept = new Negotiator(req.raw).mediaType(mediaTypes)
        if (!accept) throw badInput({ accept: [`The header Accept must allow ${mediaTypes.join(' or ')}.`] })
        const request = req.method === 'POST' ? readGraphqlRequest(req.body, documents) : null
        const outcome =
          request &&
          (await queries.executeKnown(request, req.caller, ({ name }) => {
            req.graphqlOperation = name?.value
          }))
        if (outcome) {
          const { data, errors } = outcome
          const masked = errors.map(maskError)
          recordErrors(req, masked)
          writeRetryAfter(reply, masked)
          writeSpentRate(req, reply)
          return reply.type(`${accept}; charset=utf-8`).send(toBody(data, masked, req.caller))
        }
        req.raw.headers.accept = accept
        // Yoga reads the URL. With a parsed query too, it builds the whole URL again for each parameter.
        req.query = undefined
        const response = await yoga.handleNodeRequestAndResponse(req, reply, { req, reply })
        writeSpentRate(req, reply)
        const contentType = response.headers.get('content-type') ?? ''
        // Without a media type that Yoga supports, its response is not JSON, or is empty.
        if (!/json/.test(contentType)) throw badInput({ 'content-type': ['Send a query as application/json.'] })
        for (const name of ['Allow', 'Retry-After']) {
          const value = response.headers.get(name)
          if (value !== null) reply.header(name, value)
        }
        if (response.status === statusOf.RATE_LIMITED) await holdRefusal(req)
        return reply
          .code(response.status)
          .header('content-type', contentType)
          .send(await response.text())
      },
    })
  })
}
