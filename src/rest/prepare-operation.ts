/** Makes operations of a version's documents: each is planned when the service starts, and runs without parsing. */
import { type DocumentNode, type FieldNode, getOperationAST, Kind, parse, type SelectionSetNode, visit } from 'graphql'
import { mapMaybePromise } from '../domain/maybe-promise.ts'
import { planOperation } from '../executor/plan.ts'
import type { Context } from '../graphql/context.ts'
import { schema } from '../graphql/schema.ts'

/** A REST operation: variables in, the response body out, as JSON text in UTF-8. */
export type Operation = (context: Context, variables: object) => Buffer | Promise<Buffer>

/**
 * Makes an operation of a document. The document is the response as the contract writes it; what it cannot express is
 * done here: `@omitNull` leaves keys out (R11), and the body is the outermost object with the key `data`.
 *
 * @returns a function that throws the first error of any field: REST answers nothing in part
 * @throws when the document cannot be planned
 */
export function prepareOperation(text: { toString(): string }): Operation {
  const document = parse(text.toString())
  const plan = planOperation(schema, document, null, { required: true, omitNull: fieldsToOmit(document) })
  const keys = keysOfBody(getOperationAST(document)?.selectionSet)
  const before = Buffer.from(keys.map(key => `{${JSON.stringify(key)}:`).join(''))
  return (context, variables) => {
    const outcome = plan?.run(context, { ...variables })
    if (!outcome) throw new Error('The variables are not those of the document.')
    return mapMaybePromise(outcome, ({ data, errors: [error] }) => {
      if (error) throw error.originalError ?? error
      if (!data.subarray(0, before.length).equals(before)) throw new Error('The answer has no body.')
      return data.subarray(before.length, data.length - keys.length)
    })
  }
}

/** @returns the keys that lead to the outermost object with the key `data` */
function keysOfBody(selections: SelectionSetNode | undefined): string[] {
  const fields = selections?.selections.filter(selection => selection.kind === Kind.FIELD) ?? []
  const keys = fields.map(({ alias, name }) => alias?.value ?? name.value)
  if (keys.includes('data')) return []
  const [field, ...others] = fields
  if (!field || others.length > 0) throw new Error('The document must have a key `data`, alone at each level above it.')
  return [keys[0]!, ...keysOfBody(field.selectionSet)]
}

/** @returns the fields with `@omitNull`, and all fields of a fragment with it */
function fieldsToOmit(document: DocumentNode): Set<FieldNode> {
  const fields = new Set<FieldNode>()
  const omits = (node: Pick<FieldNode, 'directives'>) =>
    node.directives?.some(({ name }) => name.value === 'omitNull') ?? false
  visit(document, {
    Field(field) {
      if (omits(field)) fields.add(field)
    },
    FragmentDefinition(fragment) {
      if (!omits(fragment)) return
      for (const selection of fragment.selectionSet.selections) {
        if (selection.kind === Kind.FIELD) fields.add(selection)
      }
    },
  })
  return fields
}
