import fc from 'fast-check'
import { getVariableValues, Kind, type OperationDefinitionNode, parse } from 'graphql'
import { expect, test } from 'vitest'
import { prepareVariables } from '../../src/executor/variables.ts'
import { schema } from '../../src/graphql/schema.ts'

const types = ['ID', 'String', 'Int', 'Boolean', 'DateTime', 'RemovalResource', 'ResolveVoucherInput']
const defaults: Record<string, string[]> = {
  ID: ['"1"', '2', 'null'],
  String: ['"a"', 'null'],
  Int: ['3', 'null'],
  Boolean: ['true', 'null'],
  DateTime: ['"2026-01-01"'],
  RemovalResource: ['TENANT', 'null'],
  ResolveVoucherInput: ['{ tenantId: 1 }', 'null'],
}

const definition = fc.constantFrom(...types).chain(type =>
  fc
    .tuple(fc.constantFrom('', '!', '[]', '[]!', '[!]!'), fc.option(fc.constantFrom(...defaults[type]!)))
    .map(([form, given]) => {
      const wrapped = form.startsWith('[') ? form.replace('[', `[${type}`) : `${type}${form}`
      return given === null || wrapped.endsWith('!') ? wrapped : `${wrapped} = ${given}`
    }),
)
const scalar = fc.oneof(
  fc.constantFrom<unknown>(null, undefined, true, 'TENANT', 'NOTHING', '2026-01-01', 1.5, 2 ** 40, {}, Number.NaN),
  fc.integer(),
  fc.string(),
  fc.record({ tenantId: fc.oneof(fc.integer(), fc.string()), qrToken: fc.string() }, { requiredKeys: [] }),
)
const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 3 }))

test('variables are coerced or rejected as in graphql-js', () => {
  const inputs = fc.dictionary(fc.constantFrom('v0', 'v1', 'v2', 'other'), value)
  fc.assert(
    fc.property(fc.array(definition, { maxLength: 3 }), inputs, (definitions, given) => {
      const declared = definitions.map((text, index) => `$v${index}: ${text}`).join(', ')
      const document = parse(`query ${declared && `(${declared})`} { __typename }`)
      const operation = document.definitions.find(
        (node): node is OperationDefinitionNode => node.kind === Kind.OPERATION_DEFINITION,
      )
      const { variableDefinitions = [] } = operation!
      const { coerced } = getVariableValues(schema, variableDefinitions, given)
      expect(prepareVariables(schema, variableDefinitions)(given)).toEqual(coerced ?? null)
    }),
    { numRuns: 3000 },
  )
})
