import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { whole } from '../../support/builders.ts'
import { globalId } from '../../support/graphql.ts'
import { startService } from '../../support/service.ts'
import { type Asked, ask, idsOf, list } from './support.ts'

const { build, client } = await startService()
const top = await build.tenant()
const below = await build.tenant({ parent_id: top })
const { secret } = await build.token([whole(top)])

const tea = await build.product(top, { title: 'Tea for two', currency: 'GBP', price: 10, sort_order: 2 })
await build.product(below, { title: 'tea', currency: 'EUR', price: 0, sort_order: 1 })
const spa = { title: 'Spa 100%', currency: 'EUR', price: 99.5, is_monetary: true, sort_order: -3 }
await build.product(top, spa)
const surprise = await build.product(top, { title: 'Überraschung', currency: 'EUR', sort_order: 2 })
await build.product(await build.tenant(), { title: 'Tea of others' })
const category = await build.category(top, [tea, surprise])

const firstDay = '2026-01-01T00:00:00Z'
const secondDay = '2026-01-02T00:00:00Z'
for (const [tenantId, columns] of [
  [top, { email: 'ann@x.example', full_name: 'Ann Lee', consent_source: 'web', consented_at: secondDay }],
  [below, { email: 'bob@lee.example', forename: 'bob', surname: 'O’Neil', consent_source: 'fair' }],
  [top, { email: 'jose@x.example', full_name: 'José Ñandú', consent_source: 'fair', consented_at: firstDay }],
  [top, { email: 'b_1@x.example' }],
  [top, { email: 'no@x.example', full_name: 'Ann Lee', consent_source: 'web', marketing_opted: false }],
] as const) {
  await build.customer(tenantId, columns)
}

/** Reads a list with the tenants below. @returns the title of each product, or the e-mail address of each signup */
async function namesOf(asked: Omit<Asked, 'tenantId'>): Promise<string[]> {
  const field = asked.list === 'catalogVouchers' ? 'title' : 'email'
  const { edges } = await list(client, secret, { tenantId: top, withDescendants: true, ...asked }, {}, `name: ${field}`)
  return edges.map(({ node }: { node: { name: string } }) => node.name)
}

it.each<[object, string[]]>([
  [{ isMonetary: true }, ['Spa 100%']],
  [{ isMonetary: false }, ['Tea for two', 'tea', 'Überraschung']],
  [{ currency: 'GBP', price: { from: 10 } }, ['Tea for two']],
  [{ currency: 'EUR', price: { to: 10 } }, ['tea']],
  [{ text: 'TEA' }, ['Tea for two', 'tea']],
  [{ text: '00%' }, ['Spa 100%']],
  [{ categoryId: String(category) }, ['Tea for two', 'Überraschung']],
  [{ categoryId: globalId('Category', category) }, ['Tea for two', 'Überraschung']],
])('finds the products that %j says', async (filter, titles) => {
  expect((await namesOf({ list: 'catalogVouchers', filter })).sort()).toEqual([...titles].sort())
})

it.each<[string, 'ASC' | 'DESC', object, string[]]>([
  ['TITLE', 'ASC', {}, ['Spa 100%', 'tea', 'Tea for two', 'Überraschung']],
  ['TITLE', 'DESC', {}, ['Überraschung', 'Tea for two', 'tea', 'Spa 100%']],
  ['PRICE', 'ASC', { currency: 'EUR' }, ['tea', 'Spa 100%', 'Überraschung']],
  ['PRICE', 'DESC', { currency: 'EUR' }, ['Spa 100%', 'tea', 'Überraschung']],
  ['SORT_ORDER', 'ASC', {}, ['Spa 100%', 'tea', 'Tea for two', 'Überraschung']],
  ['SORT_ORDER', 'DESC', { isMonetary: false }, ['Überraschung', 'Tea for two', 'tea']],
])('products are ordered by %s %s with %j', async (field, direction, filter, titles) => {
  expect(await namesOf({ list: 'catalogVouchers', filter, orderBy: { field, direction } })).toEqual(titles)
})

it.each<[object, string[]]>([
  [{ source: 'web' }, ['ann@x.example']],
  [{ source: '\0' }, []],
  [{ consented: { from: firstDay, before: secondDay } }, ['jose@x.example']],
  [{ text: 'ann lee' }, ['ann@x.example']],
  [{ text: '@LEE' }, ['bob@lee.example']],
  [{ text: 'b_' }, ['b_1@x.example']],
  [{ text: 'ñandú', source: 'fair' }, ['jose@x.example']],
])('finds the signups that %j says', async (filter, emails) => {
  expect(await namesOf({ list: 'marketingSignups', filter })).toEqual(emails)
})

it.each<[string, 'ASC' | 'DESC', string[]]>([
  ['CONSENTED_AT', 'ASC', ['jose@x.example', 'ann@x.example', 'bob@lee.example', 'b_1@x.example']],
  ['CONSENTED_AT', 'DESC', ['ann@x.example', 'jose@x.example', 'b_1@x.example', 'bob@lee.example']],
  ['NAME', 'ASC', ['ann@x.example', 'bob@lee.example', 'jose@x.example', 'b_1@x.example']],
  ['NAME', 'DESC', ['jose@x.example', 'bob@lee.example', 'ann@x.example', 'b_1@x.example']],
])('signups are ordered by %s %s', async (field, direction, emails) => {
  expect(await namesOf({ list: 'marketingSignups', orderBy: { field, direction } })).toEqual(emails)
})

it('signups are found by sources of any length', async () => {
  const tenantId = await build.tenant()
  const token = await build.token([tenantId])
  const long = randomBytes(5_000).toString('hex')
  const ids: number[] = []
  for (const end of ['', 'x']) ids.push(await build.customer(tenantId, { consent_source: `${long}${end}` }))
  const asked: Asked = { tenantId, list: 'marketingSignups', filter: { source: `${long}x` } }
  expect(idsOf(await list(client, token.secret, asked))).toEqual([ids[1]])
})

it('an error names each wrong argument', async () => {
  const fieldsOf = async (asked: Omit<Asked, 'tenantId'>) => {
    const { errors } = await ask(client, secret, { tenantId: top, ...asked })
    return Object.keys(errors[0].extensions.errors)
  }
  const dates = { validUntil: { from: '2026-02-30', to: 'x' }, purchased: { before: 'now' } }
  const filter = { ...dates, balance: { from: 1 }, text: 'x'.repeat(201) }
  const wrong = ['filter.validUntil.from', 'filter.validUntil.to', 'filter.purchased.before', 'filter.balance']
  const orderBy = { field: 'BALANCE' }
  expect(await fieldsOf({ list: 'purchasedVouchers', filter, orderBy })).toEqual([...wrong, 'filter.text', 'orderBy'])
  const products = { currency: 'pounds', text: 'a '.repeat(11) }
  expect(await fieldsOf({ list: 'catalogVouchers', filter: products })).toEqual(['filter.currency', 'filter.text'])
  expect(await fieldsOf({ list: 'catalogVouchers', filter: { price: { to: 5 } } })).toEqual(['filter.price'])
})

it('with descendants, a search finds records of granted tenants only', async () => {
  const parent = await build.tenant()
  const child = await build.tenant({ parent_id: parent })
  const deep = await build.tenant({ parent_id: child })
  const ids = [await build.product(parent), await build.product(child), await build.product(deep)]
  for (const [grants, tenantId, expected] of [
    [[parent], parent, ids.slice(0, 1)],
    [[parent, whole(child)], parent, ids],
    [[parent, deep], parent, [ids[0], ids[2]]],
    [[whole(parent)], child, ids.slice(1)],
  ] as const) {
    const token = await build.token([...grants])
    const found = await list(client, token.secret, { tenantId, list: 'catalogVouchers', withDescendants: true })
    expect(idsOf(found).sort((a, b) => a - b)).toEqual(expected)
  }
})

it.each([
  [1, 'first: 1, filter: {}, withDescendants: false'],
  [2, 'filter: { isMonetary: true }'],
  [2, 'orderBy: { field: TITLE }'],
  [4, 'filter: { text: "tea" }'],
])('costs %i: %s', async (cost, args) => {
  const query = `{ tenant(id: ${top}) { catalogVouchers(${args}) { nextCursor } } }`
  const { body } = await client.graphql(secret, query)
  expect(body.errors).toBeUndefined()
  expect(body.extensions.cost.actual).toBe(cost)
})
