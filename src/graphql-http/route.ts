import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { badInput } from '../domain/errors.ts'
import { callsLeft, secondsLeft } from '../domain/rate/rate.ts'
import type { Caller } from '../domain/token/caller.ts'
import type { Gateway } from '../graphql/context.ts'
import { refuseOtherMethods } from '../http/authenticated.ts'
import { type Authenticate, writeRateHeaders } from '../http/caller.ts'
import { sendError, toGatewayError } from '../http/errors.ts'
import { graphqlPath } from '../http/paths.ts'
import { readTextBodies } from '../http/text-body.ts'
import { recordErrors, showError, toErrorsBody, writeRetryAfter } from './errors.ts'
import { EventStreams, eventStreamType, toWholeStream, writeStreamHeaders } from './event-stream.ts'
import { type Answer, createPipeline, toBody } from './pipeline.ts'
import { createRequestReader } from './request.ts'
import type { TrustedDocuments } from './trusted-documents.ts'

/** Returns the cost of a request that has been executed or rejected. */
const reportCost = ({ requestedCost, cost, rejectedCost, rate, window }: Caller) => ({
  /** The highest possible cost of the document with its variables; 1 when it does not run. */
  requested: requestedCost,
  /** The number of quota units that the request was charged. */
  actual: Math.max(1, cost - rejectedCost),
  // The quota units that are left in the window, and the seconds until the window ends, as in the rate headers.
  remaining: callsLeft(rate.limit, window),
  resetsIn: secondsLeft(window),
})

/** Writes the rate headers again when the request was charged for more than its first unit (R29). */
function writeSpentRate({ caller }: FastifyRequest, reply: FastifyReply): void {
  const { rate, window, cost } = caller
  if (cost > 1) writeRateHeaders(reply, rate.limit, window)
}

/**
 * Adds the cost to the body of a request that failed before it was executed. A request that exceeds the rate is not
 * charged. A request without a valid token has no cost.
 */
function addCost(request: FastifyRequest, reply: FastifyReply, body: object): object {
  const { caller } = request
  if (caller) {
    writeSpentRate(request, reply)
    return { ...body, extensions: { cost: reportCost(caller) } }
  }
  const [remaining, resetsIn] = ['RateLimit-Remaining', 'RateLimit-Reset'].map(name => Number(reply.getHeader(name)))
  if (!reply.hasHeader('RateLimit-Remaining')) return body
  return { ...body, extensions: { cost: { requested: 1, actual: 0, remaining, resetsIn } } }
}

const allowedMethods = ['GET', 'POST']

/**
 * The name under which all requests of this route are counted. The route has only one name, because requests differ
 * only in their documents.
 */
const countedOperation = 'GraphQL'

/** The media types of answers, the preferred one first. */
const mediaTypes = ['application/json', 'application/graphql-response+json', eventStreamType]

const bodyLimit = 100 * 1024

/** Sends an answer. For `application/json`, a faulty document has the status 200 (GraphQL over HTTP, §6.4.1). */
function sendAnswer(req: FastifyRequest, reply: FastifyReply, mediaType: string, answer: Answer) {
  const { errors } = answer
  recordErrors(req, errors)
  writeRetryAfter(reply, errors)
  writeSpentRate(req, reply)
  let status = 200
  for (const { http } of errors) {
    if (!http) continue
    if (http.headers) reply.headers(http.headers)
    if (!(http.spec && mediaType === 'application/json')) status = Math.max(status, http.status ?? status)
  }
  const body = toBody(answer, `"extensions":${JSON.stringify({ cost: reportCost(req.caller) })}`)
  // The status is 200 even for errors, because the protocol of event streams has no other status.
  if (mediaType === eventStreamType) return writeStreamHeaders(reply).send(toWholeStream(body))
  return reply.code(status).type(`${mediaType}; charset=utf-8`).send(body)
}

interface GraphqlOptions {
  documents: TrustedDocuments
  /** Aborted when the service is about to stop. */
  stopping: AbortSignal
}

/**
 * Registers the GraphQL transport: GraphQL over HTTP, and over event streams, for the same callers as REST.
 *
 * @param authenticate finds the caller and counts one quota unit
 */
export function registerGraphql(
  app: FastifyInstance,
  gateway: Gateway,
  authenticate: Authenticate,
  { documents, stopping }: GraphqlOptions,
): void {
  const readRequest = createRequestReader(documents)
  const answer = createPipeline(gateway)
  const streams = new EventStreams()
  stopping.addEventListener('abort', () => streams.stop())
  // Ends the streams when the service is closed without a drain.
  app.addHook('preClose', async () => streams.stop())

  app.register(async scope => {
    readTextBodies(scope, 'application/json', bodyLimit)
    scope.setErrorHandler((error, request, reply) =>
      sendError(request, reply, toGatewayError(error), shown => addCost(request, reply, toErrorsBody(shown))),
    )
    scope.addHook('onRequest', authenticate)
    refuseOtherMethods(scope, graphqlPath, allowedMethods, { operation: countedOperation })
    scope.route({
      url: graphqlPath,
      config: { operation: countedOperation },
      method: allowedMethods,
      exposeHeadRoute: false,
      handler: async (req, reply) => {
        const accepted = new Negotiator(req.raw).mediaTypes(mediaTypes)
        const [accept] = accepted
        if (accept === undefined)
          throw badInput({ accept: [`The header Accept must allow ${mediaTypes.join(' or ')}.`] })
        const request = await readRequest(req, reply)
        if (!request) throw badInput({ 'content-type': ['Send a query as application/json.'] })
        if (!('query' in request)) {
          return sendAnswer(req, reply, accept, { data: null, errors: request.map(error => showError(error)) })
        }
        const mayStream = accepted.includes(eventStreamType)
        const outcome = await answer({ ...request, mayStream }, req.caller, ({ name }) => {
          req.graphqlOperation = name?.value
        })
        if ('events' in outcome) return streams.send(req, reply, outcome)
        return sendAnswer(req, reply, accept, outcome)
      },
    })
  })
}
