import type { FastifyReply, FastifyRequest } from 'fastify'
import { GraphQLError } from 'graphql'
import { createYoga, type GraphQLParams, type Plugin } from 'graphql-yoga'
import { graphqlPath } from '../http/paths.ts'
import { isJsonObject, type TrustedDocuments } from './trusted-documents.ts'

/** A GraphQL request (GraphQL over HTTP, §6.4.1), with the text of its document. */
export interface GraphqlRequest {
  query: string
  operationName: string | null
  variables: Record<string, unknown>
  /** False for GET. */
  mayMutate: boolean
  /** True when the caller accepts an event stream. */
  mayStream: boolean
}

type Parameters = Omit<GraphqlRequest, 'mayStream'>

const parameterNames = new Set(['query', 'documentId', 'operationName', 'variables', 'extensions'])

/** Returns the error for a request that is not a GraphQL request. Its status is 400, whatever `Accept` says. */
const badRequest = (message: string) =>
  new GraphQLError(message, { extensions: { code: 'BAD_REQUEST', http: { status: 400 } } })

/**
 * Reads the text of a request body when it has the usual form: a JSON object with only the known members.
 *
 * @returns null when Yoga has to read the body, and to report its errors; errors for a batch
 */
function readPlainRequest(body: unknown, documents: TrustedDocuments): ReadRequest {
  if (typeof body !== 'string') return null
  let request: unknown
  try {
    request = JSON.parse(body)
  } catch {
    return null
  }
  if (!isJsonObject(request))
    return [badRequest('Send one JSON object with a query: a list of operations does not run.')]
  if (!Object.keys(request).every(key => parameterNames.has(key))) return null
  const { operationName = null, variables = null, extensions = null } = request
  const query = documents.find(request)
  if (typeof query !== 'string') return null
  if (operationName !== null && typeof operationName !== 'string') return null
  if (variables !== null && !isJsonObject(variables)) return null
  if (extensions !== null && !isJsonObject(extensions)) return null
  return { query, operationName, variables: variables ?? {}, mayMutate: true }
}

/** The parameters of a request, or errors; null for a format that Yoga cannot read. */
type ReadRequest = Parameters | readonly GraphQLError[] | null

interface YogaContext extends Record<string, unknown> {
  req: FastifyRequest
  read: ReadRequest
}

/**
 * Makes a proper error for a query string whose `variables` are not JSON, because Yoga would report an internal error
 * with the parser's message.
 */
const unreadableParameters: Plugin = {
  onRequestParse({ requestParser, setRequestParser }) {
    if (!requestParser) return
    setRequestParser(async request => {
      try {
        return await requestParser(request)
      } catch (error) {
        if (error instanceof GraphQLError && error.extensions.originalError === undefined) throw error
        throw badRequest('The request is not valid JSON.')
      }
    })
  },
}

/** Replaces the id of a trusted document by its text, and stores the parameters in the context without running them. */
const createReadingPlugin = (documents: TrustedDocuments): Plugin<object, YogaContext> => ({
  onParams({ request, params, setParams, setParamsHandler }) {
    const named: GraphQLParams & { documentId?: unknown } = params
    const documentId = request.method === 'GET' ? queryParameter(request.url, 'documentId') : named.documentId
    const text = documents.find({ query: named.query, documentId, extensions: named.extensions })
    if (text instanceof GraphQLError) throw text
    const { operationName, variables } = named
    if (typeof text === 'string' && text !== named.query) {
      setParams({ query: text, ...(operationName ? { operationName } : {}), ...(variables ? { variables } : {}) })
    }
    // Yoga calls this function when it has checked the parameters.
    setParamsHandler(({ params: { query = '', operationName = null, variables }, context }) => {
      const mayMutate = context.req.method !== 'GET'
      // Yoga does not check the type of `operationName`.
      if (operationName !== null && typeof operationName !== 'string') {
        const name = 'operationName'
        context.read = [badRequest(`Expected "${name}" param to be a string, but given ${typeof operationName}.`)]
      } else context.read = { query, operationName, variables: variables ?? {}, mayMutate }
      return {}
    })
  },
  onResultProcess({ result, serverContext }) {
    if ('errors' in result && result.errors) serverContext.read = result.errors
  },
})

const queryParameter = (url: string, name: string): string | null =>
  url.includes('?') ? new URLSearchParams(url.slice(url.indexOf('?') + 1)).get(name) : null

/**
 * Creates the function that reads requests: a plain POST of JSON without Yoga, and all other requests by Yoga.
 *
 * @param documents the documents that requests may name by their id
 * @returns a function whose result is errors when the parameters are faulty
 */
export function createRequestReader(documents: TrustedDocuments) {
  const yoga = createYoga<YogaContext>({
    graphqlEndpoint: graphqlPath,
    plugins: [unreadableParameters, createReadingPlugin(documents)],
    maskedErrors: false,
    parserAndValidationCache: false,
    cors: false,
    graphiql: false,
    landingPage: false,
    logging: false,
  })
  return (req: FastifyRequest, reply: FastifyReply): ReadRequest | Promise<ReadRequest> => {
    const plain = req.method === 'POST' ? readPlainRequest(req.body, documents) : null
    return plain ?? readByYoga(req, reply)
  }

  async function readByYoga(req: FastifyRequest, reply: FastifyReply): Promise<ReadRequest> {
    const context: YogaContext = { req, read: null }
    // Removes the parsed query, so that Yoga reads the URL. With a parsed query, Yoga would build the whole URL again
    // for each parameter.
    req.query = undefined
    // Otherwise Yoga would create an event stream for its own, empty result, and the timer of this stream would never
    // end.
    if (req.headers.accept) req.headers.accept = 'application/json'
    await yoga.handleNodeRequestAndResponse(req, reply, context)
    return context.read
  }
}
