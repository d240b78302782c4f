import { readdirSync, readFileSync } from 'node:fs'
import { type DocumentNode, parse, separateOperations } from 'graphql'

/** A GraphQL document with one operation, and the type of the operation's variables. */
export interface OperationDocument<Variables> extends DocumentNode {
  readonly __variables?: (variables: Variables) => void
}

/**
 * Reads the `.graphql` files of a folder.
 *
 * @returns a function that returns an operation by its name, as a document with the fragments that it uses, and throws
 *   when there is no such operation
 */
export function readDocuments(folder: URL) {
  const files = readdirSync(folder).filter(file => file.endsWith('.graphql'))
  const texts = files.map(file => readFileSync(new URL(file, folder), 'utf8'))
  const documents = separateOperations(parse(texts.join('\n')))
  return <Variables>(name: string): OperationDocument<Variables> => {
    const document = documents[name]
    if (!document) throw new Error(`The documents of REST have no operation ${name}.`)
    return document
  }
}
