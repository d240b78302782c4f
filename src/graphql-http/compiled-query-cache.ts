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
  type OperationDefinitionNode,
} from 'graphql'
import type { Plugin } from 'graphql-yoga'
import { LRUCache } from 'lru-cache'
import { mapMaybePromise } from '../domain/maybe-promise.ts'
import { type ExecutionOutcome, type Plan, planOperation } from '../executor/plan.ts'
import type { Context } from '../graphql/context.ts'
import { schema } from '../graphql/schema.ts'
import { errorOptions, findExcess } from './limits.ts'
import type { GraphqlRequest } from './request.ts'

/** What is planned of one operation at most; graphql-js runs what exceeds it. */
const planLimits = { maxFields: 2000, maxVariants: 8 }

/** How many fields are planned at most, in all operations together: a field takes about a kilobyte. */
const mostFields = 50_000

/** Creates a cache by text, of as many entries as have a million characters together. */
const createCache = <Value extends object>() =>
  new LRUCache<string, Value>({ max: 1000, maxSize: 1_000_000, sizeCalculation: (_value, text) => text.length + 1 })

/** Creates the cache of one service. */
export function createCompiledQueryCache() {
  const documents = createCache<DocumentNode>()
  const validated = new WeakSet<DocumentNode>()
  const plans = new LRUCache<OperationDefinitionNode, { plan: Plan | null }>({
    max: 1000,
    maxSize: mostFields,
    sizeCalculation: ({ plan }) => 1 + (plan?.fields ?? 0),
  })
  const rememberValidated: Plugin = {
    onValidate({ params: { documentAST } }) {
      return ({ valid }) => {
        if (valid) validated.add(documentAST)
      }
    },
  }

  /** Runs an operation by its plan. @returns null when graphql-js has to run it; nothing has been executed then */
  function run({ document, operationName, variableValues, contextValue }: ExecutionArgs) {
    const operation = getOperationAST(document, operationName)
    if (!operation) return null
    const known = plans.get(operation)
    const plan = known ? known.plan : planOperation(schema, document, operationName ?? null, planLimits)
    const fields = known && plan?.fields
    const outcome = plan?.run(contextValue, variableValues ?? {}) ?? null
    // Running it may have planned another variant. The cache takes the size of a new entry only.
    if (!known || plan?.fields !== fields) plans.set(operation, { plan })
    return outcome
  }

  return {
    /** For Yoga's `parserAndValidationCache`: documents, and errors of those that cannot be parsed. */
    caches: { documentCache: documents, errorCache: createCache<Error>() },

    /** The plugin that records which documents are valid. */
    rememberValidated,

    /** Executes for Yoga, as `execute` of graphql-js does. */
    execute(args: ExecutionArgs): ExecutionResult | Promise<ExecutionResult> {
      const outcome = run(args)
      return outcome ? mapMaybePromise(outcome, toResult) : execute({ ...args, ...errorOptions })
    },

    /**
     * Executes a request whose document is known to be valid and whose operation is within the limits.
     *
     * @returns null when Yoga has to answer; nothing has been executed then
     */
    executeKnown(
      { query, operationName, variables }: GraphqlRequest,
      createContext: () => Context,
    ): ExecutionOutcome | Promise<ExecutionOutcome> | null {
      const document = documents.get(query)
      if (!document || !validated.has(document)) return null
      const operation = getOperationAST(document, operationName)
      if (!operation || findExcess(document, operation, variables) !== null) return null
      const args = { schema, document, contextValue: createContext(), variableValues: variables, operationName }
      const outcome = run(args)
      if (outcome) return outcome
      const result = execute({ ...args, ...errorOptions })
      // Without `data` the variables are faulty, and nothing was executed.
      return result instanceof Promise || 'data' in result ? mapMaybePromise(result, toOutcome) : null
    },
  }
}

const toResult = ({ data, errors }: ExecutionOutcome): ExecutionResult => {
  const parsed: ExecutionResult = { data: JSON.parse(data.toString()) }
  return errors.length > 0 ? { errors, ...parsed } : parsed
}

const toOutcome = ({ data, errors = [] }: ExecutionResult): ExecutionOutcome => ({
  data: Buffer.from(JSON.stringify(data ?? null)),
  errors,
})
