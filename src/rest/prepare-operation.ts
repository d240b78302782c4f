/** Prepares the operations of a version of the REST API from its documents, once when the service starts. */
import { type DocumentNode, type FieldNode, getOperationAST, Kind, type SelectionSetNode, visit } from 'graphql'
import { mapMaybePromise } from '../async/maybe-promise.ts'
import { OperationPlan, type RecordSelection } from '../executor/plan.ts'
import type { Context } from '../graphql/context.ts'
import { schema } from '../graphql/schema.ts'

/** Runs a REST operation with the variables of a request. Returns the body of the response, as JSON text in UTF-8. */
export type RunOperation = (context: Context, variables: object) => Buffer | Promise<Buffer>

/**
 * Plans a document. Its data has the form of the contract's response, with two differences: keys with `@omitNull` are
 * left out when they are null (R11), and the body is the outermost object with the key `data`.
 *
 * @returns a function that throws the first error of any field, because REST has no partial answers
 * @throws when the document cannot be planned
 */
export function prepareOperation(document: DocumentNode): RunOperation {
  const plan = planDocument(document)
  const keys = pathToBody(document).map(responseKey)
  const before = Buffer.from(keys.map(key => `{${JSON.stringify(key)}:`).join(''))
  return (context, variables) => {
    const bound = plan.bind({ ...variables })
    if (!bound) throw new Error('The document has other variables.')
    return mapMaybePromise(bound.run(context), ({ data, errors: [error] }) => {
      if (error) throw error.originalError ?? error
      if (!data.subarray(0, before.length).equals(before)) throw new Error('The answer has no body.')
      return data.subarray(before.length, data.length - keys.length)
    })
  }
}

/** Plans the records of a document's list. @throws when the document cannot be planned, or has no list `data` */
export const prepareRecords = (document: DocumentNode): RecordSelection => planDocument(document).recordsOf('data')

function planDocument(document: DocumentNode): OperationPlan {
  const operation = getOperationAST(document)
  if (!operation) throw new Error('The document must have one operation.')
  return new OperationPlan(schema, document, operation, fieldsToOmit(document)).planAll()
}

/** Returns the key of a field in the response. */
export const responseKey = ({ alias, name }: FieldNode): string => alias?.value ?? name.value

/** Returns the fields that a selection names directly, without the fields of its fragments. */
export const fieldsOf = (selections: SelectionSetNode | undefined): FieldNode[] =>
  selections?.selections.filter(selection => selection.kind === Kind.FIELD) ?? []

/**
 * Returns the path of fields to the body, which is the outermost object with the key `data`. The outermost field comes
 * first.
 */
export function pathToBody(document: DocumentNode): FieldNode[] {
  const path: FieldNode[] = []
  let fields = fieldsOf(getOperationAST(document)?.selectionSet)
  while (!fields.some(field => responseKey(field) === 'data')) {
    const [field, ...others] = fields
    if (!field || others.length > 0)
      throw new Error(
        'The document must have a field with the response key `data`, and each selection above it must have one field only.',
      )
    path.push(field)
    fields = fieldsOf(field.selectionSet)
  }
  return path
}

/** Returns the fields with `@omitNull`, and all fields of fragments with `@omitNull`. */
export function fieldsToOmit(document: DocumentNode): Set<FieldNode> {
  const fields = new Set<FieldNode>()
  const omits = (node: Pick<FieldNode, 'directives'>) =>
    node.directives?.some(({ name }) => name.value === 'omitNull') ?? false
  visit(document, {
    Field(field) {
      if (omits(field)) fields.add(field)
    },
    FragmentDefinition(fragment) {
      if (!omits(fragment)) return
      for (const field of fieldsOf(fragment.selectionSet)) fields.add(field)
    },
  })
  return fields
}
