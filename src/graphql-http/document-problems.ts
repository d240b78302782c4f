import { GraphQLError, Kind, parse, specifiedRules, validate } from 'graphql'
import { schema } from '../graphql/schema.ts'
import { findExcess, limitRules, limits, unmeasured } from './limits.ts'

/**
 * Checks the text of a document as a request with it is checked, for a request without variables.
 *
 * @returns what is wrong with it, a sentence each; none when it may run
 */
export function findProblems(text: string): string[] {
  try {
    const document = parse(text, { maxTokens: limits.tokens })
    const errors = validate(schema, document, [...specifiedRules, ...limitRules])
    if (errors.length > 0) return errors.map(describeError)
    const operations = document.definitions.filter(definition => definition.kind === Kind.OPERATION_DEFINITION)
    if (operations.length === 0) return ['It has no operation.']
    const excesses = operations.map(operation => findExcess(document, operation, {}) ?? unmeasured)
    return excesses.filter(excess => excess !== unmeasured)
  } catch (error) {
    return [error instanceof GraphQLError ? describeError(error) : String(error)]
  }
}

/** Returns the message of an error, with where it is in the document. */
function describeError({ message, locations }: GraphQLError): string {
  const [location] = locations ?? []
  return location ? `${message} (line ${location.line}, column ${location.column})` : message
}
