import {
  buildClientSchema,
  type GraphQLSchema,
  getIntrospectionQuery,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
} from 'graphql'
import { beforeAll, expect, it } from 'vitest'
import { createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'

let schema: GraphQLSchema

beforeAll(async () => {
  const database = await createDatabase()
  const client = await createApp(database)
  const { secret } = await createBuilders(database).token([])
  const { status, body } = await client.graphql(secret, getIntrospectionQuery({ inputValueDeprecation: true }))
  expect(status).toBe(200)
  schema = buildClientSchema(body.data)
})

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

it('has money, instants, dates and long numbers as scalars', () => {
  const scalars = Object.values(schema.getTypeMap()).filter(type => isScalarType(type) && !isSpecifiedScalarType(type))
  expect(scalars.map(type => type.name).sort()).toEqual(['BigInt', 'Date', 'DateTime', 'Money'])
  const typeOf = (type: string, field: string) => {
    const found = schema.getType(type)
    return isObjectType(found) ? String(found.getFields()[field]?.type) : undefined
  }
  expect(typeOf('PurchasedVoucher', 'currentBalance')).toBe('Money')
  expect(typeOf('PurchasedVoucher', 'dateValidEnd')).toBe('Date')
  expect(typeOf('PurchasedVoucher', 'updatedAt')).toBe('DateTime!')
  expect(typeOf('PurchasedVoucher', 'databaseId')).toBe('BigInt!')
})

it('makes fields that can fail nullable, so that the fields beside them are still returned', () => {
  const nullable = (type: string) => {
    const found = schema.getType(type)
    return isObjectType(found)
      ? Object.values(found.getFields()).filter(field => !String(field.type).endsWith('!'))
      : []
  }
  expect(nullable('Query').map(field => field.name)).toEqual(
    expect.arrayContaining(['tenants', 'tenant', 'node', 'nodes']),
  )
  expect(nullable('Mutation').map(field => field.name)).toEqual(['resolveVoucher'])
  expect(nullable('Tenant').map(field => field.name)).toEqual(
    expect.arrayContaining(['catalogVouchers', 'purchasedVouchers', 'marketingSignups', 'catalogVoucher']),
  )
})

it('makes every list a Relay connection of the same shape', () => {
  for (const noun of ['Tenant', 'CatalogVoucher', 'PurchasedVoucher', 'MarketingSignup']) {
    const connection = schema.getType(`${noun}Connection`)
    const edge = schema.getType(`${noun}Edge`)
    if (!isObjectType(connection) || !isObjectType(edge)) throw new Error(`${noun} has no connection`)
    expect(
      Object.fromEntries(Object.values(connection.getFields()).map(field => [field.name, String(field.type)])),
    ).toEqual({
      edges: `[${noun}Edge!]!`,
      nodes: `[${noun}!]!`,
      pageInfo: 'PageInfo!',
      nextCursor: 'String',
      serverTime: 'DateTime!',
      totalCount: 'Int!',
      count: 'Count!',
    })
    expect(String(edge.getFields().node?.type)).toBe(`${noun}!`)
  }
})
