import {
  type DocumentNode,
  GraphQLError,
  getOperationAST,
  Kind,
  Lexer,
  type OperationDefinitionNode,
  OperationTypeNode,
  parse,
  Source,
  specifiedRules,
  TokenKind,
  validate,
} from 'graphql'
import type { Size } from '../executor/estimate.ts'
import { type BoundOperation, OperationPlan } from '../executor/plan.ts'
import type { CallerLengths } from '../graphql/policy.ts'
import { schema } from '../graphql/schema.ts'
import { findExcess, limitRules, limits } from './limits.ts'
import type { GraphqlRequest } from './request.ts'

/** The memory in bytes of a token of a document with its nodes and locations, and the memory of a planned field. */
const memoryOf = { token: 500, field: 1_000 }

/** A document that can be parsed, but need not be valid. */
export class ParsedDocument {
  readonly document: DocumentNode
  readonly #plans = new Map<OperationDefinitionNode, OperationPlan>()
  #fields = 0

  /** @throws GraphQLError when the text is no document, is too long, or nests too deeply */
  constructor(text: string) {
    checkNesting(text)
    this.document = parse(text, { maxTokens: limits.tokens, noLocation: isLong(text) })
  }

  /** The memory of the document with its plans, in bytes. */
  get memory(): number {
    return (this.document.tokenCount ?? 0) * memoryOf.token + this.#fields * memoryOf.field
  }

  /**
   * Plans an operation for the given variables, and estimates its size. Returns null when the operation or its
   * variables are not valid.
   */
  prepare(
    operation: OperationDefinitionNode,
    variables: Record<string, unknown>,
    lengths: CallerLengths,
  ): { bound: BoundOperation; size: Size } | null {
    try {
      const plan = this.#plans.get(operation) ?? new OperationPlan(schema, this.document, operation)
      this.#plans.set(operation, plan)
      const { fields } = plan
      const bound = plan.bind(variables)
      this.#fields += plan.fields - fields
      const size = bound?.measure(lengths)
      return bound && size && Number.isFinite(size.complexity) ? { bound, size } : null
    } catch {
      return null
    }
  }

  /**
   * Returns the errors of validation.
   *
   * @throws GraphQLError when the document exceeds certain limits
   */
  validate(): readonly GraphQLError[] {
    // Names of the schema may be suggested, because the schema is public. At most ten errors have suggestions.
    return validate(schema, this.document, [...specifiedRules, ...limitRules], { maxErrors: limits.errors })
  }
}

/**
 * Checks the nesting of brackets, because the parser and the visitors of a document recurse at each level.
 * @throws GraphQLError when brackets nest too deeply, or a token is not valid
 */
function checkNesting(text: string): void {
  const lexer = new Lexer(new Source(text))
  let depth = 0
  for (let tokens = 0; tokens <= limits.tokens && lexer.token.kind !== TokenKind.EOF; tokens++) {
    const { kind } = lexer.advance()
    if ('{[('.includes(kind)) depth++
    else if ('}])'.includes(kind)) depth--
    if (depth > limits.brackets) {
      throw new GraphQLError(
        `The document has more than ${limits.brackets} brackets within each other. Nest its fields, lists and objects less.`,
      )
    }
  }
}

/** Returns whether a document is too long for errors with locations. */
const isLong = (text: string): boolean =>
  text.length > limits.located.characters ||
  text.split(/\r\n|[\n\r]/, limits.located.lines + 1).length > limits.located.lines

/**
 * Finds the operation that a request runs.
 *
 * @throws GraphQLError when the document has no such operation, or a request of this kind may not run it
 */
export function findOperation(
  { document }: ParsedDocument,
  { operationName, mayMutate, mayStream }: GraphqlRequest,
): OperationDefinitionNode {
  // Some clients send an empty `operationName` when they name no operation.
  const operation = getOperationAST(document, operationName || null)
  if (!operation) {
    const extensions = { code: 'OPERATION_RESOLUTION_FAILURE', http: { status: 400 } }
    throw new GraphQLError('Could not determine what operation to execute.', { extensions })
  }
  if (operation.operation === OperationTypeNode.SUBSCRIPTION && !mayStream) {
    const extensions = { code: 'BAD_REQUEST', http: { status: 406 } }
    const message = 'A subscription is answered as an event stream: send the header Accept: text/event-stream.'
    throw new GraphQLError(message, { extensions })
  }
  if (operation.operation === OperationTypeNode.MUTATION && !mayMutate) {
    const extensions = { code: 'BAD_REQUEST', http: { status: 405, headers: { Allow: 'POST' } } }
    throw new GraphQLError('Can only perform a mutation operation from a POST request.', { extensions })
  }
  return operation
}

/**
 * Validates a document with the rules for requests; variables are not needed.
 *
 * @returns the problems of the document, one sentence each; none when the document may run
 */
export function findProblems(text: string): string[] {
  try {
    const parsed = new ParsedDocument(text)
    const errors = parsed.validate()
    if (errors.length > 0) return errors.map(describeError)
    const operations = parsed.document.definitions.filter(definition => definition.kind === Kind.OPERATION_DEFINITION)
    if (operations.length === 0) return ['It has no operation.']
    const prepared = operations.map(operation => parsed.prepare(operation, {}, { tenants: 0 }))
    return prepared.map(known => findExcess(known?.size ?? null)).filter(excess => excess !== null)
  } catch (error) {
    return [error instanceof GraphQLError ? describeError(error) : String(error)]
  }
}

function describeError({ message, locations }: GraphQLError): string {
  const [location] = locations ?? []
  return location ? `${message} (line ${location.line}, column ${location.column})` : message
}
