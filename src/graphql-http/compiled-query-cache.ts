/**
 * Keeps the documents that callers sent, and the plans of their operations. A request whose document is known bypasses
 * Yoga: through Yoga a page of vouchers takes 1.4 times the CPU time, and a tenant's name 2.2 times.
 *
 * All that is not a plain POST of JSON, and all that exceeds a limit, is left to Yoga, which reports it.
 */
import {
  type DocumentNode,
  type ExecutionArgs,
  type ExecutionResult,
  execute,
  getOperationAST,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'
import type { GraphQLParams, Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { mapMaybePromise } from '../domain/maybe-promise.ts'
import type { Caller } from '../domain/token/caller.ts'
import { type ExecutionOutcome, type OperationPlan, planOperation } from '../executor/plan.ts'
import { createContext, type Gateway, isExpensive } from '../graphql/context.ts'
import { schema } from '../graphql/schema.ts'
import { errorOptions, findExcess } from './limits.ts'
import type { GraphqlRequest } from './request.ts'
import { RequestedOperations } from './requested-operations.ts'

/** The most that is planned of one operation; graphql-js runs an operation that exceeds it. */
const planLimits = { maxFields: 2000, maxVariants: 8 }

/** The most fields that are planned, in all operations together: a field takes about a kilobyte. */
const mostFields = 20_000

/** The memory for documents, in bytes, and the most that a token of one takes, with its nodes and locations. */
const documentMemory = { most: 16_000_000, token: 500 }

/** The cached parts of an operation. */
interface PlannedOperation {
  /** Null: graphql-js has to run it. */
  plan: OperationPlan | null
  requested: RequestedOperations
  /** The number of fields that are kept. */
  size: number
}

/** An operation of a valid document, which is within the limits, and who asks for it. */
interface KnownOperation {
  document: DocumentNode
  operation: OperationDefinitionNode
  operationName: string | null
  variables: Record<string, unknown>
  caller: Caller
}

interface DocumentContext extends Record<string, unknown> {
  params: GraphQLParams
}

/** Creates the cache of one service. */
export function createCompiledQueryCache(gateway: Gateway) {
  const plans = new LRUCache<OperationDefinitionNode, PlannedOperation>({
    max: 1000,
    maxSize: mostFields,
    sizeCalculation: ({ size }) => size,
  })
  // Valid documents only: what is kept of the others is in `rejected-documents.ts`.
  const documents = new LRUCache<string, DocumentNode>({
    max: 1000,
    maxSize: documentMemory.most,
    sizeCalculation: ({ tokenCount = 0 }, text) => text.length + 1 + tokenCount * documentMemory.token,
    dispose: ({ definitions }) => {
      for (const definition of definitions) {
        if (definition.kind === Kind.OPERATION_DEFINITION) plans.delete(definition)
      }
    },
  })
  const rememberValid: Plugin<DocumentContext> = {
    onValidate({ params: { documentAST }, context }) {
      const { query } = context.params
      return ({ valid }) => {
        if (valid && query !== undefined && documents.peek(query) !== documentAST) documents.set(query, documentAST)
      }
    },
  }

  /**
   * Works out what an operation requests of the rate, and runs it, an expensive one when its turn comes.
   *
   * @returns an outcome by the plan, or the result of graphql-js when that has to run it
   */
  function run({ document, operation, operationName, variables, caller }: KnownOperation) {
    const cached = plans.get(operation)
    const { plan, requested } = cached ?? {
      plan: planOperation(schema, document, operationName, planLimits),
      requested: new RequestedOperations(schema, document, operation),
    }
    caller.requestedOperations = requested.count(variables, caller.token)
    const work = () => {
      const contextValue = createContext(gateway, caller)
      const outcome = plan?.run(contextValue, variables) ?? null
      // Running it may have planned another variant. The cache takes the size of a new entry only.
      const size = 1 + (plan?.fields ?? 0) + requested.fields
      if (cached?.size !== size) plans.set(operation, { plan, requested, size })
      const args = { schema, document, contextValue, variableValues: variables, operationName, ...errorOptions }
      return outcome ?? execute(args)
    }
    return isExpensive(caller) ? gateway.expensiveRequests.run(caller.token.id, work) : work()
  }

  return {
    /** For Yoga's `parserAndValidationCache`, which would keep documents before they are valid, and errors with nodes. */
    caches: {
      documentCache: { get: (text: string) => documents.get(text), set() {} },
      errorCache: { get: () => undefined, set() {} },
    },

    /** The plugin that keeps valid documents. */
    rememberValid,

    /** Executes for Yoga, as `execute` of graphql-js does. The context value has the caller. */
    execute(args: ExecutionArgs): ExecutionResult | Promise<ExecutionResult> {
      const { document, operationName = null, variableValues } = args
      const operation = getOperationAST(document, operationName)
      if (!operation) return execute({ ...args, ...errorOptions })
      const { caller } = args.contextValue as { caller: Caller }
      const known = { document, operation, operationName, variables: variableValues ?? {}, caller }
      return mapMaybePromise<ExecutionOutcome | ExecutionResult, ExecutionResult>(run(known), outcome =>
        isOutcome(outcome) ? toResult(outcome) : outcome,
      )
    },

    /**
     * Executes a request whose document is known to be valid and whose operation is within the limits.
     *
     * @param onOperation receives the operation that will be executed
     * @returns null when Yoga has to answer; nothing has been executed then
     * @throws `RATE_LIMITED` when the request is expensive, and its token has too many of these
     */
    executeKnown(
      { query, operationName, variables }: GraphqlRequest,
      caller: Caller,
      onOperation: (operation: OperationDefinitionNode) => void,
    ): ExecutionOutcome | null | Promise<ExecutionOutcome | null> {
      const document = documents.get(query)
      if (!document) return null
      const operation = getOperationAST(document, operationName)
      if (!operation || findExcess(document, operation, variables) !== null) return null
      onOperation(operation)
      const known = { document, operation, operationName, variables, caller }
      return mapMaybePromise<ExecutionOutcome | ExecutionResult, ExecutionOutcome | null>(run(known), outcome => {
        if (isOutcome(outcome)) return outcome
        // Without `data` the variables are faulty, and nothing was executed.
        return 'data' in outcome ? toOutcome(outcome) : null
      })
    },
  }
}

const isOutcome = (given: ExecutionOutcome | ExecutionResult): given is ExecutionOutcome => Buffer.isBuffer(given.data)

const toResult = ({ data, errors }: ExecutionOutcome): ExecutionResult => {
  const parsed: ExecutionResult = { data: JSON.parse(data.toString()) }
  return errors.length > 0 ? { errors, ...parsed } : parsed
}

const toOutcome = ({ data, errors = [] }: ExecutionResult): ExecutionOutcome => ({
  data: Buffer.from(JSON.stringify(data ?? null)),
  errors,
})
