import { isEnumType, isIntrospectionType, isSpecifiedScalarType } from 'graphql'
import { expect, it } from 'vitest'
import { schema } from '../../src/graphql/schema.ts'

it('describes every type, field, argument, input field and enum value', () => {
  let described = 0
  const lacking: string[] = []
  const check = (path: string, description?: string | null) => {
    described++
    if (!description?.trim().endsWith('.')) lacking.push(path)
  }
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || isSpecifiedScalarType(type)) continue
    check(type.name, type.description)
    if (isEnumType(type)) for (const value of type.getValues()) check(`${type.name}.${value.name}`, value.description)
    for (const field of 'getFields' in type ? Object.values(type.getFields()) : []) {
      const path = `${type.name}.${field.name}`
      check(path, field.description)
      if ('args' in field) for (const arg of field.args) check(`${path}(${arg.name})`, arg.description)
    }
  }
  expect(lacking).toEqual([])
  expect(described).toBeGreaterThan(300)
})
