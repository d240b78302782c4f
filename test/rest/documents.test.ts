import { expect, test } from 'vitest'
import { prepare } from '../../src/rest/v1/execute.ts'

test.each([
  ['@skip', 'query ($b: Boolean!) { tenants { data: nodes { databaseId @skip(if: $b) } } }', '@skip is not understood'],
  ['a key that stands twice', '{ tenants { data: nodes { name name } } }', 'stands twice'],
  ['an inline fragment', '{ tenants { data: nodes { ... on Tenant { name } } } }', 'plain fragments'],
  [
    'a directive on a fragment',
    '{ tenants { data: nodes { ...A @include(if: true) } } } fragment A on Tenant { name }',
    'plain',
  ],
  ['an interface', '{ data: node(id: "x") { id } }', 'no object type'],
  ['a field that is not there', '{ tenants { data: nodes { nothing } } }', 'has no field nothing'],
  ['no operation', 'fragment A on Tenant { name }', 'holds an operation'],
  ['no key `data`', '{ viewer }', 'has a key `data`'],
])('a document with %s is refused when the service starts', (_, text, message) => {
  expect(() => prepare({ toString: () => text })).toThrow(message)
})
