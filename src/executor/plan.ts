/** Plans operations of GraphQL documents for the breadth-first executor. */
import type { DocumentNode, FieldNode, GraphQLError, GraphQLSchema } from 'graphql'

/** What running an operation gives. */
export interface ExecutionOutcome {
  /** The value of `data`, as JSON text in UTF-8. */
  data: Buffer
  /** The field errors, located, in the order of the document. */
  errors: readonly GraphQLError[]
}

/** What a transport decides about the plans of an operation. */
export interface PlanOptions {
  /** Fields whose key is left out of the answer when their value is null. */
  omitNull?: ReadonlySet<FieldNode>
  /** The most fields that all plans of the operation have together, each counted where it stands in the answer. */
  maxFields?: number
  /** The most combinations of values of the variables in `@skip` and `@include` that are planned. */
  maxVariants?: number
}

/** An operation that this executor can run. */
export interface Plan {
  /**
   * Runs the operation, with an undefined root value.
   *
   * @param context the context value of the resolvers
   * @param variables as the caller sent them
   * @returns the outcome, at once when no resolver returns a promise; null when graphql-js has to run the operation,
   *   because the variables are faulty or a limit of the options is exceeded. No resolver has been called then.
   */
  run(
    context: unknown,
    variables: Readonly<Record<string, unknown>>,
  ): ExecutionOutcome | Promise<ExecutionOutcome> | null
}

/**
 * Plans an operation of a valid document.
 *
 * @param operationName the operation's name; null for the only one
 * @returns null when graphql-js has to run it, for example because a field returns an interface
 */
export function planOperation(
  _schema: GraphQLSchema,
  _document: DocumentNode,
  _operationName: string | null,
  _options: PlanOptions = {},
): Plan | null {
  return null
}
