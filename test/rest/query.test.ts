import { describe, expect, test } from 'vitest'
import { createWorld, faultyFields, flawOf, lists, operations } from './support.ts'

const { client, build, place, secret, tenantId, platform } = await createWorld()
for (const record of ['tenant', 'product', 'voucher', 'customer']) {
  await platform`update gateway.${platform(record)} set updated_at = '2026-03-01 12:00:00.123456+00'`
}
const catalog = `/tenants/${tenantId}/catalog/vouchers`

/** Instants not later than the stamp of the records, in all accepted forms (R6). */
const findingInstants = [
  ...['2026-03-01T12:00:00.123456Z', '2026-03-01t12:00:00.123456z', '2026-03-01T12:00:00.12345699999999999999Z'],
  ...['2026-03-01T12:00:00,123456Z', '2026-03-01T12:00:00.123456', '2026-03-01T12:00Z', '2026-03-01T12:00'],
  ...['2026-03-01T13:00:00.123456+01:00', '2026-03-01T13:00:00.123456 01:00', '2026-03-01T13:00:00.123456%2B01:00'],
  ...['2026-03-01T13:00:00.123456+0100', '2026-03-01T13:00:00.123456+01', '2026-03-01T06:30:00.123456-05:30'],
  ...['2026-03-02T02:00:00.123456+14:00', '2024-02-29T00:00:00Z', '0000-01-01T00:00:00Z', '0001-01-01T00:00:00+14:00'],
]

/** Instants later than the stamp, by a microsecond or more. */
const laterInstants = [
  ...['2026-03-01T12:00:00.123457Z', '2026-03-01T12:00:00.2Z', '2026-03-01T11:00:00.123457-01:00'],
  ...['9999-12-31T23:59:59.999999Z', '9999-12-31T23:59:59-14:00'],
]

const invalidInstants = [
  ...['2026-03-01', '2026', '12:00:00', '1772366400', '1e9', '9'.repeat(4000), 'now', 'epoch', 'infinity'],
  ...['02-29', '02-30', '04-31', '13-01', '00-01', '01-00', '01-32'].map(day => `2026-${day}T00:00:00Z`),
  ...['25:00:00Z', '12:60:00Z', '23:59:60Z', '12:00:61Z', '12:00:00.Z'].map(time => `2026-01-01T${time}`),
  ...['+25:00', '+01:60', '+1', 'Europe/Berlin', ' Z Z', 'BC'].map(zone => `2026-01-01T12:00:00${zone}`),
  ...['10000-01-01T00:00:00Z', '+2026-01-01T12:00:00Z', '-2026-01-01T12:00:00Z', '2026-W01-1T12:00:00Z'],
  ...[
    'Thu, 01 Jan 2026 00:00:00 GMT',
    '２０２６-01-01T12:00:00Z',
    'undefined',
    '2026-01-01T12:00:00Z%00',
    '%FF',
    '%zz',
  ],
  "2026-01-01T12:00:00Z'; drop table product; --",
]

describe.each(lists)('updated_since of $name', ({ path }) => {
  const ask = (query: string) => client.rest(secret, `${path(place)}?${query}`)

  test('accepts each form of an ISO-8601 date and time', async () => {
    for (const text of findingInstants) {
      const { status, body } = await ask(`updated_since=${text}`)
      expect([status, body.data?.length], text).toEqual([200, 1])
    }
    for (const text of laterInstants) {
      const { status, body } = await ask(`updated_since=${text}`)
      expect([status, body.data, body.next_cursor], text).toEqual([200, [], null])
    }
  })

  test('rejects everything else', async () => {
    for (const text of invalidInstants) {
      const answer = await ask(`updated_since=${text}`)
      expect(flawOf(answer, 422), text).toBeNull()
      expect(faultyFields(answer), text).toEqual(['updated_since'])
    }
  })

  test('an empty value and `null` count as absent, also for cursor', async () => {
    const queries = ['', 'updated_since', 'updated_since=', 'updated_since=null', 'cursor=', 'cursor=null&include=']
    for (const query of queries) {
      expect((await ask(query)).body.data, query).toHaveLength(1)
    }
  })

  test('a repeated parameter is an error, and all errors are reported in one answer', async () => {
    const good = 'updated_since=2026-01-01T00:00:00Z'
    for (const twice of [`${good}&${good}`, 'updated_since=&updated_since=']) {
      expect(faultyFields(await ask(twice)), twice).toEqual(['updated_since'])
    }
    expect(faultyFields(await ask('cursor=&cursor=&updated_since=x'))).toEqual(['cursor', 'updated_since'])
    expect(faultyFields(await ask('cursor=x&updated_since=x'))).toEqual(['cursor', 'updated_since'])
  })

  test('unknown parameters are ignored', async () => {
    const odd = 'x=1&x=2&first=1&limit=1&after=x&updatedSince=x&__proto__=1&constructor=2&%zz=%ff&[]=&=&&cursor[]=x'
    expect((await ask(odd)).status).toBe(200)
  })
})

const keysWith = async (query: string) => {
  const { body } = await client.rest(secret, `${catalog}?${query}`)
  return Object.keys(body.data[0]).filter(key => key === 'categories' || key === 'variants')
}

test('include accepts categories and variants in any order, with spaces and repeated', async () => {
  expect(await keysWith('')).toEqual([])
  for (const nothing of ['include=', 'include=null', 'include']) expect(await keysWith(nothing)).toEqual([])
  expect(await keysWith('include=variants')).toEqual(['variants'])
  expect(await keysWith('include=categories')).toEqual(['categories'])
  for (const both of ['variants,categories', '%20categories%20,+variants', 'variants,categories,variants']) {
    expect(await keysWith(`include=${both}`), both).toEqual(['categories', 'variants'])
  }
})

test('the values of a repeated include are combined', async () => {
  expect(await keysWith('include=variants&include=categories')).toEqual(['categories', 'variants'])
  expect(await keysWith('include=&include=null&include=variants')).toEqual(['variants'])
})

test('include rejects any other value', async () => {
  const bad = ['x', 'categories,x', 'Categories', ',', 'categories;variants', 'null,null', '%00', 'variants&include=x']
  for (const value of bad) {
    const answer = await client.rest(secret, `${catalog}?include=${value}`)
    expect(flawOf(answer, 422), value).toBeNull()
    expect(faultyFields(answer), value).toEqual(['include'])
  }
  const all = await client.rest(secret, `${catalog}?include=x&cursor=x&updated_since=x`)
  expect(faultyFields(all)).toEqual(['cursor', 'include', 'updated_since'])
})

test('include is ignored by other lists and by records', async () => {
  const others = operations.filter(({ name, method }) => name !== 'list catalog vouchers' && method === 'GET')
  for (const { path, name } of others) {
    const answer = await client.rest(secret, `${path(place)}?include=x&include=categories`)
    expect([answer.status, answer.body.data.categories], name).toEqual([200, undefined])
  }
})

test('include must be sent again with a cursor', async () => {
  for (let made = 0; made < 55; made++) await build.product(tenantId)
  const { next_cursor } = (await client.rest(secret, `${catalog}?include=variants`)).body
  expect(await keysWith(`cursor=${next_cursor}`)).toEqual([])
  expect(await keysWith(`include=variants&cursor=${next_cursor}`)).toEqual(['variants'])
})
