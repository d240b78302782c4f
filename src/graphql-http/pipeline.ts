/**
 * The steps of a GraphQL request: parse the document, plan the operation and measure its size in one walk, validate the
 * document, and run the plan. Documents are cached, together with their plans or their errors.
 */
import { GraphQLError, getVariableValues, type OperationDefinitionNode, OperationTypeNode } from 'graphql'
import { LRUCache } from 'lru-cache'
import { mapMaybePromise } from '../async/maybe-promise.ts'
import type { Caller } from '../domain/token/caller.ts'
import { createContext, type Gateway, isExpensive } from '../graphql/context.ts'
import { schema } from '../graphql/schema.ts'
import { findOperation, ParsedDocument } from './document.ts'
import { retryableOf, type ShownError, showError } from './errors.ts'
import { findExcess, findLongList, limits } from './limits.ts'
import type { GraphqlRequest } from './request.ts'

/** The answer to a request. Without data the request has failed as a whole, and nothing has run. */
export interface Answer {
  /** JSON text in UTF-8. */
  data: Buffer | null
  errors: readonly ShownError[]
}

/**
 * Returns the body of an answer, a line of JSON.
 *
 * @param members the text of further members of the JSON object; an answer without data and errors needs at least one
 *   member
 */
export function toBody({ data, errors }: Answer, ...members: string[]): Buffer {
  if (errors.length > 0) members.unshift(`"errors":${JSON.stringify(errors.map(({ body }) => body))}`)
  const others = members.join(',')
  if (!data) return Buffer.from(`{${others}}`)
  return Buffer.concat([Buffer.from('{"data":'), data, Buffer.from(others === '' ? '}' : `,${others}}`)])
}

/** A subscription that has begun. */
export interface Subscription {
  /** The events. The receiver ends the subscription by calling `return`. */
  events: AsyncIterator<unknown>
  answer: (event: unknown) => Answer | Promise<Answer>
}

/** Answers a request; `onOperation` receives the operation when the document is valid and within the limits. */
type AnswerRequest = (
  request: GraphqlRequest,
  caller: Caller,
  onOperation: (operation: OperationDefinitionNode) => void,
) => Answer | Subscription | Promise<Answer | Subscription>

/** The maximum memory for documents, in bytes, as `memoryOf` estimates it. */
const maxMemory = 32_000_000

/** A valid document, or the errors of a document that is not valid. */
type CachedDocument = ParsedDocument | readonly ShownError[]

const isRejected = (known: CachedDocument): known is readonly ShownError[] => Array.isArray(known)

const memoryOf = (known: CachedDocument, text: string): number =>
  isRejected(known)
    ? known.reduce((sum, { body }) => sum + body.message.length, text.length + 1)
    : text.length + known.memory

const failed = (errors: readonly ShownError[]): Answer => ({ data: null, errors })

/** Creates the function that answers the requests of one service. */
export function createPipeline(gateway: Gateway): AnswerRequest {
  const documents = new LRUCache<string, CachedDocument>({ max: 1000, maxSize: maxMemory, sizeCalculation: memoryOf })

  /** Stores the document in the cache again with its present size, which grows with new plans. */
  const keep = (text: string, known: CachedDocument) => {
    documents.delete(text)
    documents.set(text, known)
  }

  const reject = (text: string, errors: readonly unknown[], code: string): Answer => {
    const shown = errors.map(error => showError(error, code))
    keep(text, shown)
    return failed(shown)
  }

  /** @throws GraphQLError for a request that may not run */
  const answerOrThrow: AnswerRequest = (request, caller, onOperation) => {
    const { query, variables } = request
    const known = documents.get(query)
    if (known && isRejected(known)) return failed(known)
    let document = known
    if (!document) {
      try {
        document = new ParsedDocument(query)
      } catch (error) {
        return reject(query, [error], 'GRAPHQL_PARSE_FAILED')
      }
    }
    const operation = findOperation(document, request)
    const longList = findLongList(operation, variables)
    if (longList !== null) throw new GraphQLError(longList)
    const { memory } = document
    const prepared = document.prepare(operation, variables, { tenants: caller.token.tenants.length })
    // The size is checked before validation, because validation takes longest for complex documents.
    const excess = findExcess(prepared?.size ?? null)
    if (excess !== null) throw new GraphQLError(excess)
    if (!known) {
      const errors = document.validate()
      if (errors.length > 0) return reject(query, errors, 'GRAPHQL_VALIDATION_FAILED')
    }
    if (!known || document.memory !== memory) keep(query, document)
    onOperation(operation)
    if (!prepared) return failed(variableErrors(operation, variables))
    caller.requestedCost = Math.max(1, prepared.size.cost)
    const { bound } = prepared
    const context = createContext(gateway, caller)
    const runFor = (event?: unknown) =>
      mapMaybePromise(bound.run(context, event), ({ data, errors }) => ({
        data,
        errors: errors.map(error => showError(error)),
      }))
    if (operation.operation === OperationTypeNode.SUBSCRIPTION) {
      return bound.subscribe(context).then(
        events => ({ events, answer: runFor }),
        error => {
          // Throws, because the status of the thrown error makes clients try again.
          const retryable = retryableOf(error)
          if (retryable) throw retryable
          return failed([showError(error)])
        },
      )
    }
    const run = () => runFor()
    return isExpensive(caller) ? gateway.expensiveRequests.run(caller.token.id, run) : run()
  }

  return (...request) => {
    try {
      return answerOrThrow(...request)
    } catch (error) {
      if (error instanceof GraphQLError) return failed([showError(error)])
      throw error
    }
  }
}

/** Returns the errors of the variables of an operation that could not be prepared, though its document is valid. */
function variableErrors(
  { variableDefinitions = [] }: OperationDefinitionNode,
  variables: Record<string, unknown>,
): ShownError[] {
  // Limits the number of errors, and leaves out suggestions, because graphql-js computes suggestions again for each
  // error.
  const options = { maxErrors: limits.errors, hideSuggestions: true }
  const { errors } = getVariableValues(schema, variableDefinitions, variables, options)
  // An operation does not run when its size is unknown.
  return (errors ?? [new GraphQLError('The complexity of the query cannot be measured.')]).map(error =>
    showError(error),
  )
}
