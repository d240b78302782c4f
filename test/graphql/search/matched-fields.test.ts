/** Tests the fields in which a search found its words. */
import { expect, it } from 'vitest'
import { whole } from '../../support/builders.ts'
import { startService } from '../../support/service.ts'
import { capture } from '../statements.ts'

const { build, client, pool } = await startService()
const tenantId = await build.tenant()
const below = await build.tenant({ parent_id: tenantId })
for (const [reference, product_title, recipient_name, tenant = tenantId] of [
  ['TEA-1', 'Tea for two', 'Zoë O’Tea'],
  ['SPA-2', 'Spa day, 100%', 'Anna\t"Lee" \\x'],
  ['TEA-3', null, null, below],
  ['ÖL-4', 'İST TEAROOM', 'ΣΑΣ'],
] as const) {
  await build.voucher(tenant, { reference, product_title, recipient_name })
}
await build.customer(tenantId, { full_name: 'Ann Lee', forename: 'Ann', surname: 'Lee', email: 'lee@example.com' })
await build.product(tenantId, { title: 'Tea for two' })
const { secret } = await build.token([whole(tenantId)])

/** Searches a text. @returns the matched fields of each record, by the value of the field `name` */
async function search(text: string, { list = 'purchasedVouchers', name = 'reference', token = secret } = {}) {
  const data = await client.read(
    token,
    `query ($tenant: ID!, $text: String) { tenant(id: $tenant) {
       list: ${list}(filter: { text: $text }, withDescendants: true) { edges { matchedFields node { name: ${name} } } } } }`,
    { tenant: tenantId, text },
  )
  const edges: { matchedFields: string[]; node: { name: string } }[] = data.tenant.list.edges
  return Object.fromEntries(edges.map(({ matchedFields, node }) => [node.name, matchedFields]))
}

it.each<[string, Record<string, string[]>]>([
  ['spa-2', { 'SPA-2': ['REFERENCE'] }],
  ['SPA', { 'SPA-2': ['REFERENCE', 'PRODUCT_TITLE'] }],
  // Each word may occur in a different field.
  ['ZOË two', { 'TEA-1': ['PRODUCT_TITLE', 'RECIPIENT_NAME'] }],
  // Short words match only beginnings of words, and wildcards match only themselves.
  [
    't',
    { 'TEA-1': ['REFERENCE', 'PRODUCT_TITLE', 'RECIPIENT_NAME'], 'TEA-3': ['REFERENCE'], 'ÖL-4': ['PRODUCT_TITLE'] },
  ],
  ['100%', { 'SPA-2': ['PRODUCT_TITLE'] }],
  ['"lee" \\', { 'SPA-2': ['RECIPIENT_NAME'] }],
  ['öl-4', { 'ÖL-4': ['REFERENCE'] }],
])('a voucher has the fields in which a text occurs: %s', async (text, found) => {
  expect(await search(text)).toEqual(found)
})

it('every match has at least one field', async () => {
  for (const text of ['İST', 'ist', 'i̇st', 'ΣΑΣ', 'σασ', 'σας', 'ö', 'Ö', 'o', '%', '\\', '‘', 'O’T']) {
    for (const [reference, fields] of Object.entries(await search(text))) {
      expect(fields, `${text} in ${reference}`).not.toEqual([])
    }
  }
})

it('without a search text, no record has matched fields', async () => {
  expect(await search(' ')).toEqual({ 'TEA-1': [], 'SPA-2': [], 'TEA-3': [], 'ÖL-4': [] })
})

it('signups and products also have matched fields', async () => {
  const customers = { list: 'marketingSignups', name: 'email' }
  expect(await search('ann example', customers)).toEqual({ 'lee@example.com': ['FULL_NAME', 'FORENAME', 'EMAIL'] })
  expect(await search('two', { list: 'catalogVouchers', name: 'title' })).toEqual({ 'Tea for two': ['TITLE'] })
})

it('only with redeem_vouchers a statement searches the names of recipients, and they are matched fields', async () => {
  const token = (await build.token([whole(tenantId)], { permissions: ['view_vouchers', 'view_orders'] })).secret
  const statements = await capture(pool, async () =>
    expect(await search('tea', { token })).toEqual({
      'TEA-1': ['REFERENCE', 'PRODUCT_TITLE'],
      'TEA-3': ['REFERENCE'],
      'ÖL-4': ['PRODUCT_TITLE'],
    }),
  )
  const matching = statements.filter(({ text }) => text.includes('search.matched_fields'))
  expect(matching).toHaveLength(1)
  expect(JSON.stringify(matching)).not.toContain('Zoë')
})
