import { parse } from 'graphql'
import { expect, test } from 'vitest'
import { prepareOperation } from '../../src/rest/prepare-operation.ts'

test.each([
  ['an interface', '{ data: node(id: "x") { id } }', 'runs no interfaces'],
  [
    'a field of an interface below',
    '{ tenants { data: nodes { name } } data: node(id: "x") { id } }',
    'runs no interfaces',
  ],
  [
    'an interface that a variable includes',
    'query ($b: Boolean!) { viewer { data: name } data: node(id: "x") @include(if: $b) { id } }',
    'runs no interfaces',
  ],
  ['a field that does not exist', '{ tenants { data: nodes { nothing } } }', 'no field nothing'],
  ['no operation', 'fragment A on Tenant { name }', 'must have one operation'],
  ['no key `data`', '{ viewer { name } }', 'must have a field with the response key `data`'],
  [
    'other keys than the way to `data`',
    '{ viewer { data: name } tenants { totalCount } }',
    'must have a field with the response key `data`',
  ],
])('the service does not start with a document that has %s', (_, text, message) => {
  expect(() => prepareOperation(parse(text))).toThrow(message)
})
