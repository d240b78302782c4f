import {
  defaultFieldResolver,
  type GraphQLArgument,
  isEnumType,
  isIntrospectionType,
  isObjectType,
  isSpecifiedScalarType,
} from 'graphql'
import { expect, it } from 'vitest'
import type { Column } from '../../src/db/row/column.ts'
import { categoryColumns } from '../../src/domain/record/category.ts'
import { products } from '../../src/domain/record/product.ts'
import { signups } from '../../src/domain/record/signup.ts'
import { variantColumns } from '../../src/domain/record/variant.ts'
import { vouchers } from '../../src/domain/record/voucher.ts'
import { resolvedColumns } from '../../src/domain/record/voucher-lookup.ts'
import { columnTypes } from '../../src/graphql/columns.ts'
import { directResolverOf } from '../../src/graphql/direct-resolver.ts'
import { typeNameOf } from '../../src/graphql/node-types.ts'
import { schema } from '../../src/graphql/schema.ts'

interface Described {
  name: string
  description?: string | null | undefined
}

/** Returns all that the schema describes, named by its path. */
const described: Described[] = Object.values(schema.getTypeMap())
  .filter(type => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
  .flatMap(type => {
    const { name, description } = type
    if (isEnumType(type)) {
      return [{ name, description }, ...type.getValues().map(value => ({ ...value, name: `${name}.${value.name}` }))]
    }
    const fields = 'getFields' in type ? Object.values(type.getFields()) : []
    return [
      { name, description },
      ...fields.flatMap(field => {
        const args: readonly GraphQLArgument[] = 'args' in field ? field.args : []
        const path = `${name}.${field.name}`
        return [{ ...field, name: path }, ...args.map(arg => ({ ...arg, name: `${path}(${arg.name})` }))]
      }),
    ]
  })

it('describes every type, field, argument, input field and enum value', () => {
  expect(described.filter(({ description }) => !description?.trim().endsWith('.'))).toEqual([])
  expect(described.length).toBeGreaterThan(300)
})

const types: Record<string, Readonly<Record<string, Column>>> = {
  Category: categoryColumns,
  Variant: variantColumns,
  ResolvedVoucher: resolvedColumns,
  ...Object.fromEntries([products, signups, vouchers].map(({ noun, columns }) => [typeNameOf(noun), columns])),
}

it.each(
  Object.entries(types),
)('each described column of %s is a field that the executor reads directly', (name, columns) => {
  const type = schema.getType(name)
  if (!isObjectType(type)) throw new Error(`${name} is no object type.`)
  for (const [property, { kind, nullable, description }] of Object.entries(columns)) {
    const field = type.getFields()[property === 'id' ? 'databaseId' : property]
    if (description === undefined) {
      expect(field, property).toBeUndefined()
      continue
    }
    expect(String(field?.type), property).toBe(nullable ? columnTypes[kind] : `${columnTypes[kind]}!`)
    expect(field?.description, property).toBe(description)
    const { resolve = defaultFieldResolver } = field!
    const direct = { kind: 'property', name: property }
    // A field that has the name of its property keeps the default resolver.
    expect(resolve === defaultFieldResolver ? { ...direct, name: field!.name } : directResolverOf(resolve)).toEqual(
      direct,
    )
  }
})
