/** The fields in which a search found its words. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { Permission } from '../../../src/domain/token/permission.ts'
import { type Client, createApp } from '../../support/app.ts'
import { createBuilders } from '../../support/builders.ts'
import { createDatabase, type TestDatabase } from '../../support/database.ts'
import { followed } from '../../support/followed.ts'
import { capture, namesOf } from '../statements.ts'

let database: TestDatabase
let client: Client
let build: ReturnType<typeof createBuilders>
let tenantId: number
let secret: string

beforeAll(async () => {
  database = await createDatabase()
  client = await createApp(database)
  build = createBuilders(database)
  tenantId = await build.tenant()
  const below = await build.tenant({ parent_id: tenantId })
  await build.voucher(tenantId, { reference: 'TEA-1', product_title: 'Tea for two', recipient_name: 'Zoë O’Tea' })
  await build.voucher(tenantId, {
    reference: 'SPA-2',
    product_title: 'Spa day, 100%',
    recipient_name: 'Anna\t"Lee" \\x',
  })
  await build.voucher(below, { reference: 'TEA-3', product_title: null, recipient_name: null })
  // Lower case of both letters depends on the database.
  await build.voucher(tenantId, { reference: 'ÖL-4', product_title: 'İST TEAROOM', recipient_name: 'ΣΑΣ' })
  await build.customer(tenantId, {
    ...{ full_name: 'Ann Lee', forename: 'Ann', surname: 'Lee', email: 'lee@example.com', marketing_opted: true },
  })
  await build.product(tenantId, { title: 'Tea for two' })
  await followed(database.pool)
  secret = await newToken()
})

async function newToken(permissions?: readonly Permission[]): Promise<string> {
  const grant = [{ tenantId, withDescendants: true }]
  return (await build.token(grant, permissions ? { permissions: [...permissions] } : {})).secret
}

/** Searches a text. @returns the fields of each record, by what `name` selects */
async function search(text: string, { list = 'purchasedVouchers', name = 'reference', token = secret } = {}) {
  const { body } = await client.graphql(
    token,
    `query ($tenant: ID!, $text: String) { tenant(id: $tenant) {
       list: ${list}(filter: { text: $text }, withDescendants: true) { edges { matchedFields node { name: ${name} } } } } }`,
    { tenant: tenantId, text },
  )
  expect(body.errors).toBeUndefined()
  const { edges } = body.data.tenant.list
  return Object.fromEntries(
    edges.map((edge: { matchedFields: string[]; node: { name: string } }) => [edge.node.name, edge.matchedFields]),
  )
}

describe('a voucher says where a text occurs:', () => {
  it.each<[string, Record<string, string[]>]>([
    ['spa-2', { 'SPA-2': ['REFERENCE'] }],
    ['SPA', { 'SPA-2': ['REFERENCE', 'PRODUCT_TITLE'] }],
    [
      'tea',
      {
        'TEA-1': ['REFERENCE', 'PRODUCT_TITLE', 'RECIPIENT_NAME'],
        'TEA-3': ['REFERENCE'],
        'ÖL-4': ['PRODUCT_TITLE'],
      },
    ],
    // Each word may occur in another field.
    ['zoë two', { 'TEA-1': ['PRODUCT_TITLE', 'RECIPIENT_NAME'] }],
    ['ZOË', { 'TEA-1': ['RECIPIENT_NAME'] }],
    // Short words are beginnings of words, and wildcards stand for themselves.
    ['t', { 'TEA-1': ['REFERENCE', 'PRODUCT_TITLE'], 'TEA-3': ['REFERENCE'], 'ÖL-4': ['PRODUCT_TITLE'] }],
    ['100%', { 'SPA-2': ['PRODUCT_TITLE'] }],
    ['"lee" \\', { 'SPA-2': ['RECIPIENT_NAME'] }],
    ['öl-4', { 'ÖL-4': ['REFERENCE'] }],
  ])('%s', async (text, found) => {
    expect(await search(text)).toEqual(found)
  })

  it('whatever it is found by, at least one field', async () => {
    for (const text of ['İST', 'ist', 'i̇st', 'ΣΑΣ', 'σασ', 'σας', 'ö', 'Ö', 'o', '%', '\\', '‘', 'O’T']) {
      for (const [reference, fields] of Object.entries(await search(text))) {
        expect(fields, `${text} in ${reference}`).not.toEqual([])
      }
    }
  })

  it('nowhere without a text', async () => {
    expect(await search(' ')).toEqual({ 'TEA-1': [], 'SPA-2': [], 'TEA-3': [], 'ÖL-4': [] })
  })
})

it('a customer and a product say it too', async () => {
  const customers = { list: 'marketingSignups', name: 'email' }
  expect(await search('lee', customers)).toEqual({ 'lee@example.com': ['FULL_NAME', 'SURNAME', 'EMAIL'] })
  expect(await search('ann example', customers)).toEqual({ 'lee@example.com': ['FULL_NAME', 'FORENAME', 'EMAIL'] })
  expect(await search('two', { list: 'catalogVouchers', name: 'title' })).toEqual({ 'Tea for two': ['TITLE'] })
})

describe('the name of a recipient', () => {
  it('is a field only with redeem_vouchers', async () => {
    const token = await newToken(['view_vouchers', 'view_orders'])
    expect(await search('tea', { token })).toEqual({
      'TEA-1': ['REFERENCE', 'PRODUCT_TITLE'],
      'TEA-3': ['REFERENCE'],
      'ÖL-4': ['PRODUCT_TITLE'],
    })
    expect(await search('zoë', { token })).toEqual({})
  })

  it('is not sent to the database without it', async () => {
    const token = await newToken(['view_vouchers', 'view_orders'])
    const statements = await capture(database.pool, () => search('tea', { token }))
    const matching = statements.filter(({ text }) => text.includes('search.matched_fields'))
    expect(matching).toHaveLength(1)
    expect(JSON.stringify(matching)).not.toContain('Zoë')
  })
})

it('takes one statement for all records, and none when it is not selected', async () => {
  const statements = async (selection: string) =>
    namesOf(
      await capture(database.pool, () =>
        client.graphql(
          secret,
          `{ tenant(id: ${tenantId}) { purchasedVouchers(filter: { text: "tea" }) { ${selection} } } }`,
        ),
      ),
    ).filter(name => name === 'search.matched_fields')
  expect(await statements('edges { matchedFields again: matchedFields } again: edges { matchedFields }')).toHaveLength(
    1,
  )
  expect(await statements('edges { node { id } }')).toHaveLength(0)
})
