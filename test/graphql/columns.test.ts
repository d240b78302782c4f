import { defaultFieldResolver, isObjectType } from 'graphql'
import { expect, test } from 'vitest'
import type { Column } from '../../src/db/column.ts'
import { categoryColumns } from '../../src/domain/record/category.ts'
import { products } from '../../src/domain/record/product.ts'
import { resolvedColumns } from '../../src/domain/record/resolution.ts'
import { signups } from '../../src/domain/record/signup.ts'
import { variantColumns } from '../../src/domain/record/variant.ts'
import { vouchers } from '../../src/domain/record/voucher.ts'
import { directResolverOf } from '../../src/graphql/direct-resolver.ts'
import { typeNameOf } from '../../src/graphql/node-types.ts'
import { schema } from '../../src/graphql/schema.ts'

const types: Record<string, Readonly<Record<string, Column>>> = {
  Category: categoryColumns,
  Variant: variantColumns,
  ResolvedVoucher: resolvedColumns,
  ...Object.fromEntries([products, signups, vouchers].map(({ noun, columns }) => [typeNameOf(noun), columns])),
}

test.each(
  Object.entries(types),
)('each described column of %s is a field that the executor reads directly', (name, columns) => {
  const type = schema.getType(name)
  if (!isObjectType(type)) throw new Error(`${name} is no object type.`)
  for (const [property, { codec, nullable, description }] of Object.entries(columns)) {
    const field = type.getFields()[property === 'id' ? 'databaseId' : property]
    if (description === undefined) {
      expect(field, property).toBeUndefined()
      continue
    }
    expect(String(field?.type), property).toBe(nullable ? codec.scalar : `${codec.scalar}!`)
    expect(field?.description, property).toBe(description)
    const { resolve = defaultFieldResolver } = field!
    const direct = { kind: 'property', name: property }
    // A field that has the name of its property keeps the default resolver.
    expect(resolve === defaultFieldResolver ? { ...direct, name: field!.name } : directResolverOf(resolve)).toEqual(
      direct,
    )
  }
})
