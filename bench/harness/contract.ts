/** The operations of v1 as GraphQL documents, read from the REST transport's own. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  concatAST,
  type DocumentNode,
  Kind,
  type OperationDefinitionNode,
  parse,
  print,
  separateOperations,
  visit,
} from 'graphql'
import { root } from './packages.ts'

/** A body of v1. */
export type Body = Record<string, unknown>

/** One operation of v1. */
export interface ContractOperation {
  /** The document as a GraphQL client can send it. Its aliases are the names of the fields in v1. */
  query: string
  /** The name of the variable that holds a record's id, if the operation takes one. */
  idVariable: string | undefined
  /** @returns v1's body from `data` of a response to `query`: fields that v1 omits are null in it */
  readBody(data: unknown): Body
}

/** The operations of all documents with their fragments, without directives, fields included on demand, and variables of these. */
const operations = separateOperations(
  visit(concatAST(readDocuments()), {
    Field: field => (field.directives?.some(({ name }) => name.value === 'include') ? null : undefined),
    Directive: () => null,
    // Only `@include` takes a Boolean in v1's documents.
    VariableDefinition: variable => (print(variable.type).startsWith('Boolean') ? null : undefined),
  }),
)

function readDocuments(): DocumentNode[] {
  const directory = join(root, 'src/rest/v1')
  const files = readdirSync(directory).filter(file => file.endsWith('.graphql'))
  return files.map(file => parse(readFileSync(join(directory, file), 'utf8')))
}

/** Returns an operation of v1, for example `ListTenants`. */
export function contractOperation(name: string): ContractOperation {
  const document = operations[name]
  const operation = document?.definitions.find(each => each.kind === Kind.OPERATION_DEFINITION)
  if (!document || !operation) throw new Error(`The documents of v1 have no operation ${name}.`)
  const path = pathOfBody(operation)
  const ids = operation.variableDefinitions?.filter(({ type }) => print(type) === 'ID!')
  return {
    query: print(document),
    idVariable: ids?.map(({ variable }) => variable.name.value).find(each => each !== 'tenant'),
    readBody(data) {
      const body = path.reduce((value, key) => (isBody(value) ? value[key] : undefined), data)
      if (!isBody(body)) throw new Error(`The answer has no body: ${JSON.stringify(data)?.slice(0, 200)}`)
      return body
    },
  }
}

const isBody = (value: unknown): value is Body => typeof value === 'object' && value !== null && !Array.isArray(value)

/** @returns the fields that lead to the selection that holds `data` */
function pathOfBody({ selectionSet }: Pick<OperationDefinitionNode, 'selectionSet'>): string[] {
  const fields = selectionSet.selections.filter(each => each.kind === Kind.FIELD)
  const [field] = fields
  if (fields.some(({ alias }) => alias?.value === 'data')) return []
  if (!field?.selectionSet) throw new Error('A v1 document selects `data`.')
  return [field.name.value, ...pathOfBody({ selectionSet: field.selectionSet })]
}
