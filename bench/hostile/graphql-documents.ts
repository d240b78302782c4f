/** GraphQL requests that try to cost the service much: each family grows along one dimension. */

/** One hostile GraphQL request. */
export interface HostileDocument {
  name: string
  query: string
  operationName?: string
  /** As JSON: a value may be nested too deeply for `JSON.stringify`. */
  variables?: string
}

const repeat = (count: number, make: (n: number) => string, separator = ' '): string =>
  Array.from({ length: count }, (_, n) => make(n)).join(separator)

/** Repeats a text as often as it fits into a body as JSON, with other text of the given length. */
const fill = (text: string, otherLength = 0): string =>
  text.repeat(Math.floor((room - otherLength) / (Buffer.byteLength(JSON.stringify(text)) - 2)))

const nested = (count: number, open: string, inner: string, close: string): string =>
  open.repeat(count) + inner + close.repeat(count)

/** The length of a text that fits into a body of `/graphql` with the rest of the body, in characters. */
const room = 95_000

const productFields =
  'id databaseId slug title summary currency price salePrice fromPrice fromSalePrice isMonetary sortOrder imageUrls updatedAt'
const variantFields = 'id slug title price salePrice currency isMonetary sortOrder updatedAt'
const voucherFields =
  'id databaseId reference initialBalance currentBalance purchaseValue currency isMonetary allowPartRedeem void ' +
  'productTitle purchaseTimestamp dateIssued dateValidStart dateValidEnd redemptionStatus createdAt updatedAt'

/** Documents that could take long to parse and validate. */
function* hardToValidate(): Generator<HostileDocument> {
  for (const count of [100, 600, 1900]) {
    yield { name: `${count} fields of one name`, query: `{ viewer { ${'name '.repeat(count)} } }` }
    yield { name: `${count} __typename`, query: `{ ${'__typename '.repeat(count)} }` }
  }
  for (const count of [20, 100, 300]) {
    yield { name: `${count} objects of one name`, query: `{ ${'viewer { name rate { limit } } '.repeat(count)} }` }
    yield {
      name: `${count} objects of one name with conflicts below`,
      query: `{ ${repeat(count, n => `viewer { x: ${['name', 'permissions', 'expiresAt'][n % 3]} y: ${['expiresAt', 'name'][n % 2]} }`)} }`,
    }
    yield {
      name: `${count} lists of one name with other arguments`,
      query: `{ ${repeat(count, n => `tenants(first: ${n % 90}) { totalCount }`)} }`,
    }
    yield {
      name: `${count} fragments that all are spread everywhere`,
      query: `{ ${repeat(count, n => `...F${n}`)} } ${repeat(count, n => `fragment F${n} on Query { viewer { name } }`)}`,
    }
    yield {
      name: `${count} inline fragments`,
      query: `{ ${repeat(count, n => `... on Query { viewer { ${['name', 'expiresAt'][n % 2]} } }`)} }`,
    }
    yield { name: `${count} unknown fields`, query: `{ ${repeat(count, n => `viewe${n}`)} }` }
    yield {
      name: `${count} unknown arguments`,
      query: `{ tenants(${repeat(count, n => `firs${n}: 1`)}) { totalCount } }`,
    }
    yield { name: `${count} directives`, query: `{ viewer { name ${'@include(if: true) '.repeat(count)} } }` }
    yield { name: `${count} unknown directives`, query: `{ viewer { name ${repeat(count, n => `@includ${n}`)} } }` }
    yield {
      name: `${count} fields with directives`,
      query: `{ viewer { ${repeat(count, n => `name @skip(if: ${n % 2 === 0})`)} } }`,
    }
    yield {
      name: `${count} operations that spread ${count} fragments`,
      operationName: 'O1',
      query:
        repeat(Math.min(count, 80), n => `query O${n}($a: ID!) { ...F0 }`) +
        repeat(Math.min(count, 80), n => ` fragment F${n} on Query { tenant(id: $a) { name } ...F${n + 1} }`) +
        ` fragment F${Math.min(count, 80)} on Query { tenant(id: $a) { id } }`,
      variables: '{"a":"1"}',
    }
    yield {
      name: `${count} variables`,
      query: `query (${repeat(count, n => `$v${n}: Int`)}) { viewer { name } }`,
    }
    yield {
      name: `${count} variables of types that are not there`,
      query: `query (${repeat(count, n => `$v${n}: In${n}`)}) { viewer { name } }`,
    }
    yield {
      name: `${count} unknown input fields`,
      query: `mutation { resolveVoucher(input: { ${repeat(count, n => `tenantI${n}: 1`)} }) { status } }`,
    }
    yield {
      name: `${count} unknown enum values`,
      query: `{ tenant(id: 1) { removals(resources: [${repeat(count, n => `TENAN${n}`)}]) { totalCount } } }`,
    }
  }
  for (const count of [8, 30, 100, 180]) {
    yield {
      name: `${count} fragments that double`,
      query: `{ viewer { ...F0 } } ${repeat(count, n => `fragment F${n} on Viewer { ...F${n + 1} ...F${n + 1} }`)} fragment F${count} on Viewer { name }`,
    }
    yield {
      name: `${count} fragments that double, with fields between`,
      query: `{ tenants { nodes { ...F0 } } } ${repeat(count, n => `fragment F${n} on Tenant { name ...F${n + 1} catalogVouchers { totalCount } ...F${n + 1} }`)} fragment F${count} on Tenant { name }`,
    }
    yield {
      name: `${count} fragments, each with objects that conflict`,
      query: `{ viewer { ${repeat(count, n => `...F${n}`)} } } ${repeat(count, n => `fragment F${n} on Viewer { rate { ${['limit', 'x: remaining', 'x: resetsIn', 'x: limit'][n % 4]} } }`)}`,
    }
    yield {
      name: `${count} fragments in a circle`,
      query: `{ viewer { ...F0 } } ${repeat(count, n => `fragment F${n} on Viewer { name ...F${(n + 1) % count} }`)}`,
    }
    yield {
      name: `nested ${count} times`,
      query: `{ viewer ${nested(count, '{ ... on Viewer ', '{ name }', ' }')} }`,
    }
    yield { name: `${count} selections open`, query: '{ viewer '.repeat(count) }
  }
  // Two fields of one name are compared with all fields below them: this makes pairs of pairs.
  for (const depth of [3, 5, 8]) {
    const below = (level: number): string =>
      level === 0 ? 'name' : `... on Viewer { ${below(level - 1)} } ... on Viewer { ${below(level - 1)} }`
    yield { name: `inline fragments that double ${depth} times`, query: `{ viewer { ${below(depth)} } }` }
    const conflicting = (level: number): string =>
      level === 0
        ? 'x: name x: databaseId'
        : `catalogVouchers { nodes { ${'variants { title id price } '.repeat(level)} } } catalogVouchers { nodes { ${'variants { x: title x: price } '.repeat(level)} } }`
    yield {
      name: `conflicts below lists ${depth}`,
      query: `{ ${`tenant(id: 1) { ${conflicting(depth)} } `.repeat(depth)} }`,
    }
  }
  const manyConflicts = `{ ${repeat(15, n => `viewer { ${repeat(60, m => `a${m}: ${n % 2 ? 'name' : 'expiresAt'}`)} }`)} }`
  for (const [name, padding] of [
    ['newlines', fill('\n', manyConflicts.length)],
    ['spaces', fill(' ', manyConflicts.length)],
    ['commas', fill(',', manyConflicts.length)],
    ['comments', fill('#\n', manyConflicts.length)],
    ['lines and spaces, but not too many', '\n'.repeat(190) + ' '.repeat(6_500)],
  ] as const) {
    yield { name: `conflicts after many ${name}`, query: padding + manyConflicts }
    yield { name: `a syntax error after many ${name}`, query: `${padding}{ viewer { name ` }
    yield { name: `a valid document after many ${name}`, query: `${padding}{ viewer { name } }` }
    yield {
      name: `unknown fields after many ${name}`,
      query: `${padding}{ ${repeat(300, n => `viewe${n}`)} }`,
    }
    yield {
      name: `fields that fail after many ${name}`,
      query: `${padding}{ tenants(first: 100) { nodes { ${repeat(25, n => `f${n}: purchasedVoucher(id: 0) { id }`)} } } }`,
    }
    yield {
      name: `records that are absent after many ${name}`,
      query: `${padding}query ($ids: [ID!]!) { ${repeat(15, n => `f${n}: nodes(ids: $ids) { id }`)} }`,
      variables: JSON.stringify({ ids: Array<string>(100).fill('x') }),
    }
  }
}

/** Long tokens, unusual tokens, and text that is not a token. */
function* oddText(): Generator<HostileDocument> {
  const long = 'x'.repeat(room - 100)
  yield { name: 'a long name', query: `{ ${long} }` }
  yield { name: 'a long alias', query: `{ ${long}: viewer { name } }` }
  yield { name: 'a long variable', query: `query ($${long}: Int) { viewer { name } }` }
  yield { name: 'a long type', query: `query ($x: ${long}) { viewer { name } }` }
  yield { name: 'a long fragment', query: `{ ...${long} }` }
  yield { name: 'a long directive', query: `{ viewer { name @${long} } }` }
  yield { name: 'a long enum value', query: `{ tenant(id: 1) { removals(resources: ${long}) { totalCount } } }` }
  yield { name: 'a long comment', query: `#${long}\n{ viewer { name } }` }
  for (const [name, text] of [
    ['letters', fill('x', 200)],
    ['suggestions', fill('Did you mean ', 200)],
    ['suggestions that end', `${fill('Did you mean ', 200)}?`],
    ['escapes', fill('\\u0041', 200)],
    ['escapes in braces', fill('\\u{1F600}', 200)],
    ['quotes', fill('\\"', 200)],
    ['other letters', fill('漢', 200)],
    ['half letters', fill('\\uD83D', 200)],
  ] as const) {
    yield { name: `a string of ${name}`, query: `{ tenant(id: "${text}") { name } }` }
    yield { name: `a string of ${name} for a number`, query: `{ tenants(first: "${text}") { totalCount } }` }
    yield { name: `a string of ${name} for a cursor`, query: `{ tenants(after: "${text}") { totalCount } }` }
    yield { name: `a string of ${name} for an instant`, query: `{ tenants(updatedSince: "${text}") { totalCount } }` }
    yield { name: `a string of ${name} for a global id`, query: `{ node(id: "${text}") { id } }` }
  }
  for (const line of ['\n', '\n ', ' \n', '\r\n', '\t\n  \n', '\\"""\n']) {
    const text = fill(line, 200)
    yield { name: `a block string of ${JSON.stringify(line)}`, query: `{ tenant(id: """${text}""") { name } }` }
  }
  for (const digit of ['9', '0', '1e', '0.1e-']) {
    yield { name: `a number of ${digit}`, query: `{ tenants(first: ${fill(digit, 200)}1) { totalCount } }` }
  }
  for (const text of [
    '{',
    '}',
    '(',
    '[',
    '"',
    '"""',
    '#',
    '...',
    '$',
    '@',
    '!',
    '&',
    '\u0000',
    '\ufeff',
    '\ud83d',
    '\\',
  ]) {
    yield { name: `nothing but ${JSON.stringify(text)}`, query: fill(text) }
    yield { name: `lists of ${JSON.stringify(text)}`, query: `{ nodes(ids: ${text.repeat(1900)}) { id } }` }
  }
  for (const count of [101, 1900]) {
    yield { name: `a literal list of ${count}`, query: `{ nodes(ids: [${'1 '.repeat(count)}]) { id } }` }
  }
  yield { name: 'lists within lists', query: `{ nodes(ids: ${nested(950, '[', '1', ']')}) { id } }` }
  yield {
    name: 'objects within objects',
    query: `mutation { resolveVoucher(input: ${nested(600, '{a:', '1', '}')}) { status } }`,
  }
}

/** Variables that are long, deep, odd or invalid. */
function* hostileVariables(): Generator<HostileDocument> {
  const lists: Record<string, string> = {
    ids: 'query ($x: [ID!]!) { nodes(ids: $x) { id } }',
    enums: 'query ($x: [RemovalResource!]) { tenant(id: 1) { removals(resources: $x) { totalCount } } }',
  }
  const scalars: Record<string, string> = {
    id: 'query ($x: ID!) { tenant(id: $x) { name } }',
    node: 'query ($x: ID!) { node(id: $x) { id } }',
    int: 'query ($x: Int) { tenants(first: $x) { totalCount } }',
    cursor: 'query ($x: String) { tenants(after: $x) { totalCount } }',
    instant: 'query ($x: DateTime) { tenants(updatedSince: $x) { totalCount } }',
    condition: 'query ($x: Boolean!) { viewer { name @include(if: $x) } }',
    input: 'mutation ($x: ResolveVoucherInput!) { resolveVoucher(input: $x) { status } }',
  }
  const values: Record<string, unknown> = {
    'many zeros': Array(45_000).fill(0),
    'many nulls': Array(18_000).fill(null),
    'many texts': Array(24_000).fill('x'),
    'many lists': Array(30_000).fill([]),
    'many objects': Array(30_000).fill({}),
    'a hundred long texts': Array(100).fill('x'.repeat(900)),
    'a hundred lists of zeros': Array(100).fill(Array(400).fill(0)),
    'a long text': 'x'.repeat(90_000),
    suggestions: 'Did you mean '.repeat(7_200),
    'suggestions that end': `${'Did you mean '.repeat(7_000)}?`,
    digits: '9'.repeat(90_000),
    spaces: ' '.repeat(90_000),
    escapes: fill('\u0000', 200),
    quotes: '"'.repeat(45_000),
    slashes: '/'.repeat(90_000),
    'an address': `https://x/?${'qr=&'.repeat(20_000)}`,
    dates: '2026-01-01T'.repeat(8_000),
    fractions: `2026-01-01T00:00:00.${'9'.repeat(80_000)}Z`,
    'dots of a global id': Buffer.from(`PurchasedVoucher:${'.'.repeat(60_000)}`).toString('base64url'),
    'colons of a global id': Buffer.from(`PurchasedVoucher:${':'.repeat(60_000)}`).toString('base64url'),
    'letters of a global id': Buffer.from(`PurchasedVoucher:${'漢'.repeat(20_000)}`).toString('base64url'),
    'global ids': Buffer.from(`PurchasedVoucher:${'1.'.repeat(30_000)}`).toString('base64url'),
    colons: Buffer.from(':'.repeat(60_000)).toString('base64url'),
    'many unknown keys': Object.fromEntries(Array.from({ length: 9_000 }, (_, n) => [`k${n}`, 0])),
    'a long key': { ['k'.repeat(90_000)]: 1 },
    'a long reference': { tenantId: '1', voucherReference: 'x'.repeat(90_000) },
    'a long QR token': { tenantId: '1', qrToken: `https://x/${'%41/'.repeat(20_000)}` },
    'a short QR token of parts': { tenantId: '1', qrToken: `https://x/?${'t&'.repeat(1_000)}` },
  }
  const deep = [
    ['deep lists', nested(45_000, '[', '', ']')],
    ['deep objects', nested(15_000, '{"a":', '1', '}')],
  ] as const
  // The same variable is read again for each record of a list.
  const below: Record<string, string> = {
    voucher: 'purchasedVoucher(id: $x) { id }',
    product: 'catalogVoucher(id: $x) { id }',
    signup: 'marketingSignup(id: $x) { id }',
    cursor: 'catalogVouchers(after: $x, first: 1) { nextCursor }',
    instant: 'purchasedVouchers(updatedSince: $x, first: 1) { nextCursor }',
    size: 'marketingSignups(first: $x) { nextCursor }',
    removals: 'removals(after: $x, first: 0) { nextCursor }',
  }
  const types: Record<string, string> = {
    instant: 'DateTime',
    size: 'Int',
    voucher: 'ID!',
    product: 'ID!',
    signup: 'ID!',
  }
  const tenantIds = Array<string>(100).fill(Buffer.from('Tenant:2').toString('base64url'))
  for (const [name, field] of Object.entries(below)) {
    for (const count of [4, 8, 12]) {
      const fields = repeat(count, n => `f${n}: ${field}`)
      const query = `query ($ids: [ID!]!, $x: ${types[name] ?? 'String'}) { nodes(ids: $ids) { ... on Tenant { ${fields} } } }`
      for (const [what, x] of Object.entries({ ...values, nothing: '', zero: name === 'size' ? -1 : '0' })) {
        if (typeof x === 'object' || (name === 'size' && typeof x === 'string')) continue
        yield {
          name: `${count} times ${name} below a list: ${what}`,
          query,
          variables: JSON.stringify({ ids: tenantIds, x }),
        }
      }
    }
  }
  for (const [name, query] of Object.entries({ ...lists, ...scalars })) {
    const texts = Object.entries(values).map(([what, value]) => [what, JSON.stringify(value)] as const)
    for (const [what, text] of [...texts, ...deep])
      yield { name: `${name}: ${what}`, query, variables: `{"x":${text}}` }
  }
  yield {
    name: 'many variables that are not declared',
    query: '{ viewer { name } }',
    variables: JSON.stringify(values['many unknown keys']),
  }
  yield {
    name: 'many invalid variables',
    query: `query (${repeat(300, n => `$v${n}: Int`)}) { tenants(first: $v0) { totalCount } ${repeat(1, () => 'viewer { name }')} }`,
    variables: JSON.stringify(Object.fromEntries(Array.from({ length: 300 }, (_, n) => [`v${n}`, 'x'.repeat(200)]))),
  }
}

/** Valid documents whose cost is near the limit or above it. */
function* costly(): Generator<HostileDocument> {
  const page = (first: number, fields: string) => `catalogVouchers(first: ${first}) { nodes { ${fields} } }`
  const letters = [...'abcdefghijklmnopqrstuvwxyz']
  for (const first of [50, 100]) {
    for (const count of [1, 4, 7, 8, 9, 10, 11, 12, 13, 26]) {
      const pages = (make: (name: string) => string) =>
        `{ tenant(id: 2) { ${letters.slice(0, count).map(make).join(' ')} } }`
      const product = `${productFields} variants { ${variantFields} } categories { id slug title }`
      yield { name: `${count} pages of ${first} products`, query: pages(name => `${name}: ${page(first, product)}`) }
      yield {
        name: `${count} pages of ${first} products with their children`,
        query: pages(name => `${name}: ${page(first, 'fromPrice variants { title } categories { title }')}`),
      }
      yield {
        name: `${count} pages of ${first} vouchers`,
        query: pages(name => `${name}: purchasedVouchers(first: ${first}) { nodes { ${voucherFields} } }`),
      }
      yield {
        name: `${count} pages of ${first} vouchers with cursors and global ids`,
        query: pages(
          name =>
            `${name}: purchasedVouchers(first: ${first}) { edges { cursor node { id } } pageInfo { startCursor endCursor } nextCursor totalCount }`,
        ),
      }
      yield {
        name: `${count} pages of ${first} vouchers with all there is`,
        query: pages(
          name =>
            `${name}: purchasedVouchers(first: ${first}) { nodes { ${voucherFields} } edges { cursor node { ${voucherFields} } } totalCount }`,
        ),
      }
    }
    yield {
      name: `pages of ${first} of all tenants`,
      query: `{ tenants(first: 100) { nodes { catalogVouchers(first: ${first}) { nodes { ${productFields} } } purchasedVouchers(first: ${first}) { nodes { ${voucherFields} } } } } }`,
    }
  }
  for (const first of [1, 5, 10, 11, 12]) {
    yield {
      name: `pages of ${first} of all tenants`,
      query: `{ tenants(first: 20) { nodes { catalogVouchers(first: ${first}) { nodes { ${productFields} variants { ${variantFields} } } } purchasedVouchers(first: ${first}) { nodes { ${voucherFields} } } } } }`,
    }
  }
  yield {
    name: 'a heavy operation beside a light one',
    query: `query A { viewer { name } } query B { tenants(first: 100) { nodes { ${letters.map(name => `${name}: ${page(100, productFields)}`).join(' ')} } } }`,
    operationName: 'B',
  }
  yield {
    name: 'tokens of a token',
    query: `{ ${letters.map(name => `${name}: viewer { tenants { tenant { name } } permissions rate { limit remaining } }`).join(' ')} }`,
  }
  const type = 'name kind description ofType { name kind ofType { name kind ofType { name } } }'
  const fields = `fields(includeDeprecated: true) { name description args { name description type { ${type} } } type { ${type} } }`
  yield {
    name: 'introspection',
    query: `{ __schema { types { name description ${fields} inputFields { name } enumValues { name } } } }`,
  }
  yield {
    name: 'introspection of all fields of all fields',
    query: `{ __schema { types { fields { type { ofType { fields { name type { ${type} } args { name type { ${type} } } } } } } } } }`,
  }
  yield {
    name: 'introspection of all fields of all fields, with their types',
    query: `{ __schema { types { fields { args { type { ofType { inputFields { name } enumValues { name } } } } type { fields { name args { name type { ${type} } } type { ${type} enumValues { name } } } ofType { fields { name args { name type { ${type} } } type { ${type} } } } } } } } }`,
  }
  yield {
    name: 'introspection of possible types',
    query: `{ __schema { types { possibleTypes { fields { name args { name type { ${type} } } type { ${type} interfaces { name } } } } } } }`,
  }
  yield {
    name: 'introspection by 25 aliases',
    query: `{ ${repeat(25, n => `a${n}: __schema { types { name kind fields { name isDeprecated } } }`)} }`,
  }
  yield {
    name: 'one type by aliases within each other',
    query: `{ ${repeat(4, n => `a${n}: __type(name: "Tenant") { ${repeat(6, m => `a${m}: fields { name args { name type { ${type} } } }`)} }`)} }`,
  }
  yield { name: 'introspection, often', query: `{ ${'__schema { types { name fields { name } } } '.repeat(150)} }` }
  yield {
    name: 'one type, often',
    query: `{ __type(name: "Query") { ${'fields { name args { name } type { name } } '.repeat(120)} } }`,
  }
}

/** Every hostile document, in the same order each time. */
export function* hostileDocuments(): Generator<HostileDocument> {
  yield* hardToValidate()
  yield* oddText()
  yield* hostileVariables()
  yield* costly()
}
