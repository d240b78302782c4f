import {
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql'
import { expect, it } from 'vitest'
import { schema } from '../../src/graphql/schema.ts'

it('describes every type, field, argument, input field and enum value', () => {
  const bare: string[] = []
  const see = (name: string, { description }: { description?: string | null | undefined }) => {
    if (!description?.trim().endsWith('.')) bare.push(name)
  }
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || isSpecifiedScalarType(type)) continue
    see(type.name, type)
    if (isEnumType(type)) for (const value of type.getValues()) see(`${type.name}.${value.name}`, value)
    if (isInputObjectType(type)) {
      for (const field of Object.values(type.getFields())) see(`${type.name}.${field.name}`, field)
    }
    if (isObjectType(type) || isInterfaceType(type)) {
      for (const field of Object.values(type.getFields())) {
        see(`${type.name}.${field.name}`, field)
        for (const arg of field.args) see(`${type.name}.${field.name}(${arg.name})`, arg)
      }
    }
  }
  expect(bare).toEqual([])
})
