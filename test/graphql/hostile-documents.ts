/**
 * GraphQL requests that are written to be expensive. Each group grows in one dimension, up to the maximum length of a
 * body.
 */

export interface HostileRequest {
  name: string
  body: string
}

/** The maximum length of a text in a body, in bytes of JSON. The other parts of the body also need space. */
const maxBytes = 95_000

const repeat = (count: number, make: (n: number) => string): string =>
  Array.from({ length: count }, (_, n) => make(n)).join(' ')

/** Repeats a text up to the maximum length. */
const repeatText = (text: string): string =>
  text.repeat(Math.floor(maxBytes / (Buffer.byteLength(JSON.stringify(text)) - 2)))

/** Documents whose validation could take a long time. */
const documents: Record<string, (count: number) => string> = {
  'fields of one name': count => `{ viewer { ${'name '.repeat(count)} } }`,
  'objects of one name with conflicts below': count =>
    `{ ${repeat(count, n => `viewer { x: ${['name', 'permissions', 'expiresAt'][n % 3]} y: ${['expiresAt', 'name'][n % 2]} }`)} }`,
  'lists of one name with other arguments': count =>
    `{ ${repeat(count, n => `tenants(first: ${n % 90}) { totalCount }`)} }`,
  'fragments that all are spread': count =>
    `{ ${repeat(count, n => `...F${n}`)} } ${repeat(count, n => `fragment F${n} on Query { viewer { name } }`)}`,
  'fragments in a circle': count =>
    `{ viewer { ...F0 } } ${repeat(count, n => `fragment F${n} on Viewer { name ...F${(n + 1) % count} }`)}`,
  'unknown fields': count => `{ ${repeat(count, n => `viewe${n}`)} }`,
  'variables of unknown types': count => `query (${repeat(count, n => `$v${n}: In${n}`)}) { viewer { name } }`,
  'selections that do not end': count => '{ viewer '.repeat(count),
  'lists within lists': count => `{ nodes(ids: ${'['.repeat(count)}1${']'.repeat(count)}) { id } }`,
  'fields that fail after many lines': count =>
    `${'\n'.repeat(maxBytes / 3)}{ tenants(first: 100) { nodes { ${repeat(Math.min(count, 25), n => `f${n}: purchasedVoucher(id: 0) { id }`)} } } }`,
}

const longText = 'x'.repeat(maxBytes)

/** Documents with long names and literals, which an error could quote in full. */
const quoted: Record<string, string> = {
  'a literal': `{ tenants(first: ${JSON.stringify(longText)}) { totalCount } }`,
  'an argument': `{ tenants(${longText}: 1) { totalCount } }`,
  'a field': `{ ${longText} }`,
  'a variable': `query ($${longText}: Int) { viewer { name } }`,
}

/** Texts to repeat as a string, a cursor, an instant, an id or a number, and as a document. */
const texts = [
  'x',
  '漢',
  '\\',
  '"',
  '\u0000',
  '\ud83d',
  '9',
  '%41',
  'Did you mean ?',
  '{',
  '[',
  '...',
  '$',
  '#\n',
  '\n ',
]

/** Documents with a variable of each type that a caller can set. */
const queries = {
  ids: 'query ($x: [ID!]!) { nodes(ids: $x) { id } }',
  id: 'query ($x: ID!) { tenant(id: $x) { name } }',
  int: 'query ($x: Int) { tenants(first: $x) { totalCount } }',
  cursor: 'query ($x: String) { tenants(after: $x) { totalCount } }',
  instant: 'query ($x: DateTime) { tenants(updatedSince: $x) { totalCount } }',
  condition: 'query ($x: Boolean!) { viewer { name @include(if: $x) } }',
  input: 'mutation ($x: ResolveVoucherInput!) { resolveVoucher(input: $x) { status } }',
}

/** Values of variables in JSON. They are texts, because some are nested too deeply for `JSON.stringify`. */
const values: Record<string, string> = {
  'many zeros': JSON.stringify(Array(45_000).fill(0)),
  'deep lists': '['.repeat(45_000) + ']'.repeat(45_000),
  'deep objects': `${'{"a":'.repeat(15_000)}1${'}'.repeat(15_000)}`,
  'unknown keys': JSON.stringify(Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`k${n}`, 0]))),
  'a long fraction': JSON.stringify(`2026-01-01T00:00:00.${'9'.repeat(80_000)}Z`),
  'a global id of dots': JSON.stringify(Buffer.from(`PurchasedVoucher:${'.'.repeat(60_000)}`).toString('base64url')),
  'a long QR token': JSON.stringify({ tenantId: '1', qrToken: `https://x/${'%41/'.repeat(20_000)}` }),
}

/** Returns all requests, in the same order each time. */
export function hostileRequests(): HostileRequest[] {
  const requests: HostileRequest[] = []
  const add = (name: string, query: string, variables = 'null') =>
    requests.push({ name, body: `{"query":${JSON.stringify(query)},"variables":${variables}}` })
  for (const [name, make] of Object.entries(documents)) {
    for (const count of [20, 300]) add(`${count} ${name}`, make(count))
  }
  for (const [name, document] of Object.entries(quoted)) add(`${name} that is long`, document)
  for (const text of texts.map(repeatText)) {
    const name = `${JSON.stringify(text.slice(0, 8))}, repeated`
    add(`nothing but ${name}`, text)
    for (const type of ['id', 'cursor', 'instant', 'int', 'input'] as const)
      add(`${type}: ${name}`, queries[type], `{"x":${JSON.stringify(text)}}`)
  }
  for (const [type, query] of Object.entries(queries)) {
    for (const [name, value] of Object.entries(values)) add(`${type}: ${name}`, query, `{"x":${value}}`)
  }
  return requests
}
