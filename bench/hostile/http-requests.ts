/** Hostile HTTP requests below the service's limits: long, many, nested, repeated and malformed. */
import { Random } from '../harness/random.ts'

/** A request as it is sent. */
export interface HostileRequest {
  /** The hostile part of it, in a few words; unique in a corpus. */
  name: string
  method: string
  path: string
  /** Header lines in their order; a name may occur many times. `Host` and the framing of the body are not among them. */
  headers: [name: string, value: string][]
  body: string | null
  /** The number of bytes of each chunk of the body; undefined: the body is sent with its length. */
  chunkLength?: number
}

/** Values that let requests pass the first checks of the service. */
export interface Known {
  /** A token that is permitted everything at the tenant. */
  secret: string
  tenantId: number
  /** The origin of the service, as a browser sends it. */
  origin: string
  /** A form of /admin/login, by `readLoginForm`. */
  login: LoginForm
}

/** The values that a browser sends back with the login form. */
export interface LoginForm {
  cookie: string
  csrfToken: string
}

/** Loads the login form. The service must accept its origin: `PUBLIC_URL`, or this machine. */
export async function readLoginForm(origin: string): Promise<LoginForm> {
  const page = await fetch(`${origin}/admin/login`)
  const csrfToken = /name="_csrf" value="([^"]*)"/.exec(await page.text())?.[1]
  if (csrfToken === undefined) throw new Error(`${origin}/admin/login has no form (${page.status}).`)
  const cookie = page.headers.getSetCookie().map(line => line.split(';', 1)[0])
  return { cookie: cookie.join('; '), csrfToken }
}

/** @returns the bytes of the whole request */
export function toBytes({ method, path, headers, body, chunkLength }: HostileRequest, host: string): Buffer {
  const content = Buffer.from(body ?? '')
  const framing: [string, string][] = []
  if (body !== null) {
    framing.push(chunkLength ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(content.length)])
  }
  const hosts: [string, string][] = headers.some(([name]) => name === 'Host') ? [] : [['Host', host]]
  const lines = [...hosts, ...headers, ...framing].map(([name, value]) => `${name}:${value}\r\n`)
  const head = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1')
  if (body === null || !chunkLength) return Buffer.concat([head, content])
  const chunks: Buffer[] = []
  for (let start = 0; start < content.length; start += chunkLength) {
    const chunk = content.subarray(start, start + chunkLength)
    chunks.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'))
  }
  return Buffer.concat([head, ...chunks, Buffer.from('0\r\n\r\n')])
}

/** The characters that are left of Node's 16 KiB for a request's head, when the headers it needs are there. */
const headSpace = 15_000
const restBody = 64 * 1024
const graphqlBody = 100 * 1024
const formBody = 64 * 1024

/** The pattern as often as it fits. */
const fill = (pattern: string, length: number) => pattern.repeat(Math.max(1, Math.floor(length / pattern.length)))

/** Numbered texts, as many as fit. */
function numbered(length: number, make: (index: number) => string, separator: string): string {
  const parts: string[] = []
  for (let left = length; left > 0; left -= parts[parts.length - 1]!.length + separator.length) {
    parts.push(make(parts.length))
  }
  return parts.slice(0, -1).join(separator)
}

/** Values of each header that is parsed, and the pieces of random ones. */
const headerValues: Record<string, { pieces: string[]; worst: string[] }> = {
  Accept: {
    pieces: ['application/json', 'a/b', '*/*', 'application/*', ',', ';', 'q=0.1', '=', '"', '\\', ' ', 'a'],
    worst: ['a/b,', '*/*,', ' ,', ',', ';', 'a/b;c=d,', 'a/b;q=0.1,', 'a/b;c="', '"\\', 'application/*;a=b,'],
  },
  'Accept-Encoding': {
    pieces: ['br', 'gzip', 'identity', '*', ',', ';', 'q=0', 'q=0.001', ' ', '"', '='],
    worst: ['br,', '*,', 'a,', 'gzip;q=0.1,', ' ,', ';', 'identity;q=0,', 'a;b="c",', 'a;b="'],
  },
  'Accept-Language': { pieces: ['en', ',', ';q=', '-'], worst: ['en,', 'a-'] },
  Authorization: {
    pieces: ['Bearer', ' ', 'a', '\t', '=', 'vgw_'],
    worst: ['Bearer ', ' ', 'Bearer a ', 'bearer', 'vgw_', 'a'],
  },
  Cookie: {
    pieces: ['a', '=', ';', ' ', '%', '%41', '"', 'vgw-session=', 'vgw-csrf='],
    worst: ['a=b; ', ';', '=', 'a', 'a=%zz;', 'vgw-session=a;', 'vgw-session=%41.', '"', '; ='],
  },
  'Content-Type': {
    pieces: ['application/json', 'a', ';', '=', '"', '\\', ' ', 'charset=', ','],
    worst: ['application/json;', ';', ';a=b', ';a="', '"\\', 'a', ' ', '; charset=utf-8'],
  },
  Forwarded: { pieces: ['for=', '1.2.3.4', ';', ',', '"'], worst: ['for=1.2.3.4,', 'for="'] },
  Host: {
    pieces: ['localhost', '.', ':', '[', ']', 'xn--', '1', 'a', '%', '@'],
    worst: ['xn--kva', 'xn--kva.', '[', '1:', '.', 'localhost.', ':'],
  },
  'If-None-Match': { pieces: ['"a"', ',', 'W/', '*'], worst: ['"a",', '"'] },
  Origin: { pieces: ['http://', 'localhost', ':', '/'], worst: ['http://', 'a'] },
  Referer: { pieces: ['http://', 'a', '/', '?'], worst: ['http://a/'] },
  'User-Agent': { pieces: ['Mozilla/5.0', ' ', '(', ')', 'Edg', ';'], worst: ['(', 'Mozilla/5.0 ('] },
  'X-Forwarded-For': {
    pieces: ['10.0.0.1', '127.0.0.1', '::1', ',', ' ', 'fc00::', ':', '.', '%', '0x1', 'ffff:'],
    worst: ['10.0.0.1,', 'fc00::10.0.0.1,', '::ffff:10.0.0.1,', '1,', '10.1,', 'a:', '0:', ':', ' ', ',', '%', '0'],
  },
  'X-Forwarded-Host': { pieces: ['a', ',', '.'], worst: ['a,'] },
  'X-Request-Id': { pieces: ['a', '-', ' ', '.'], worst: ['a', '-', 'a b'] },
}

/** Texts for every string: in query strings, in JSON and in forms. */
const texts: Record<string, (length: number) => string> = {
  letters: length => fill('a', length),
  spaces: length => `a${fill(' ', length)}a`,
  digits: length => fill('9', length),
  dashes: length => fill('-', length),
  commas: length => fill('categories,', length),
  'an instant with a long fraction': length => `2026-01-01T00:00:00.${fill('1', length)}Z`,
  'an instant with a long offset': length => `2026-01-01T00:00:00+${fill('00:', length)}`,
  'an instant with spaces': length => `2026-01-01T00:00:00${fill(' ', length)}Z`,
  'an instant, repeated': length => fill('2026-01-01T00:00:00Z', length),
  'base64url, odd': length => fill('A', length - 1),
  'base64url, like a cursor': length => `AQ${fill('_-A9', length)}`,
  'a URL of many parameters': length => `https://a/?${fill('a&', length)}`,
  'a URL of many tokens': length => `https://a/?${fill('t=&', length)}`,
  'a URL of many segments': length => `https://a/${fill('/', length)}`,
  'a URL of many escapes': length => `https://a/${fill('%', length)}`,
  'a URL of dots': length => `https://a/${fill('../', length)}`,
  'a URL of punycode': length => `https://xn--${fill('kva', length)}`,
  'a URL of labels': length => `https://${fill('xn--kva.', length)}`,
  'a host of ideographs': length =>
    `//${numbered(length / 3, i => String.fromCodePoint(0x4e00 + ((i * 7) % 20_000)), '')}`,
  'a host of combining marks': length => `//a${fill('\u0300\u0323', length / 2)}`,
  'a host of ligatures': length => `//${fill('\ufdfa', length / 3)}`,
  'combining marks': length => `a${fill('\u0300\u0323', length / 2)}`,
  'combining marks in descending order': length => fill('\u0345\u0300\u0323\u031b\u0321\u3099\u093c\u0334', length / 2),
  ligatures: length => fill('\ufdfa', length / 3),
  'Hangul letters': length => fill('\u1100\u1161\u11a8', length / 3),
  emoji: length => fill('😀', length / 4),
  NUL: length => fill('\0', length),
  'at signs': length => `a${fill('@', length)}`,
  'an e-mail': length => `a@${fill('a.', length)}`,
  angles: length => fill('<&"', length),
  backslashes: length => fill('\\', length),
  'regular expression': length => fill('(a*)*', length),
  'SQL pattern': length => fill('%_', length),
  'Did you mean': length => fill('Did you mean ', length),
}

/**
 * Generates requests over REST v1, GraphQL, /admin, health and unknown paths. GraphQL documents have a corpus of their
 * own: here their headers and their framing are hostile.
 *
 * @param randomValues how many random values each header and each text gets beside those known to be hostile
 */
export function hostileRequests(known: Known, { randomValues }: { randomValues: number }): HostileRequest[] {
  const random = new Random(1)
  return [
    ...headerRequests(known, random, randomValues),
    ...pathRequests(known, random, randomValues),
    ...queryRequests(known),
    ...resolveRequests(known, random, randomValues),
    ...formRequests(known),
  ]
}

/** A few pieces, repeated to the length: a prefix and a suffix make the text almost match. */
function randomText(random: Random, pieces: string[], length: number): string {
  const some = (most: number) => Array.from({ length: random.below(most) + 1 }, () => random.pick(pieces)).join('')
  return some(2) + fill(some(4), length) + some(2)
}

const v1 = '/api/external/v1'

type Line = [name: string, value: string]

const bearer = ({ secret }: Known): Line[] => [
  ['Accept', 'application/json'],
  ['Authorization', `Bearer ${secret}`],
]

const json: Line = ['Content-Type', 'application/json']

const withLine = (lines: Line[], line: Line): Line[] => [...lines.filter(([name]) => name !== line[0]), line]

const viewer = JSON.stringify({ query: '{ viewer { name } }' })

/** One valid request for each transport. Each case makes a part of it hostile. */
function ordinary(known: Known): HostileRequest[] {
  const { origin, login } = known
  const resolve = `${v1}/tenants/${known.tenantId}/redemptions/resolve`
  const form: Line[] = [
    ['Origin', origin],
    ['Cookie', login.cookie],
    ['Content-Type', 'application/x-www-form-urlencoded'],
  ]
  return [
    { name: 'v1', method: 'GET', path: `${v1}/tenants`, headers: bearer(known), body: null },
    { name: 'v1 resolve', method: 'POST', path: resolve, headers: [...bearer(known), json], body: '{}' },
    { name: 'GraphQL', method: 'POST', path: '/graphql', headers: [...bearer(known), json], body: viewer },
    { name: '/admin', method: 'GET', path: '/admin/login', headers: [], body: null },
    {
      name: 'a form of /admin',
      method: 'POST',
      path: '/admin/logout',
      headers: form,
      body: `_csrf=${login.csrfToken}`,
    },
    { name: 'an asset', method: 'GET', path: '/admin/assets/admin.css', headers: [], body: null },
    { name: '/graphiql', method: 'GET', path: '/graphiql', headers: [], body: null },
    { name: '/livez', method: 'GET', path: '/livez', headers: [], body: null },
    { name: 'an unknown path', method: 'GET', path: '/nowhere', headers: [], body: null },
  ]
}

function headerRequests(known: Known, random: Random, randomValues: number): HostileRequest[] {
  const requests: HostileRequest[] = []
  for (const target of ordinary(known)) {
    const add = (what: string, headers: Line[]) =>
      requests.push({ ...target, name: `${target.name}, ${what}`, headers })
    for (const [header, { pieces, worst }] of Object.entries(headerValues)) {
      const values = worst.map(pattern => [JSON.stringify(pattern), fill(pattern, headSpace)] as const)
      const more = Array.from(
        { length: randomValues },
        (_, index) => [`random ${index}`, randomText(random, pieces, headSpace)] as const,
      )
      for (const [name, value] of [...values, ...more]) {
        add(`${header} of ${name}`, withLine(target.headers, [header, value]))
        if (header === 'Content-Type') {
          const typed = `application/json;${value}`.slice(0, headSpace)
          add(`${header} with parameters of ${name}`, withLine(target.headers, [header, typed]))
        }
      }
      // Node joins them into one value; an empty one adds its separator only.
      const lines = Array.from({ length: Math.floor(headSpace / header.length) }, (): Line => [header, ''])
      add(`many lines of ${header}`, [...target.headers, ...lines])
    }
    const distinct = Array.from({ length: 4_000 }, (_, index): Line => [`${index.toString(36)}`, ''])
    add('many distinct header lines', [...target.headers, ...distinct])
    const same = Array.from({ length: headSpace }, (): Line => ['a', ''])
    add('many equal header lines', [...target.headers, ...same])
    const indices = Array.from({ length: 2_500 }, (_, index): Line => [String(index * 1024), ''])
    add('many header lines with numbers for names', [...target.headers, ...indices])
  }
  return requests
}

/** The parts of paths: segments, escapes, and characters that look like the end of a path. */
const pathPieces = [
  '/',
  'a',
  '%',
  '%41',
  '%2f',
  '%25',
  '%zz',
  '%ff',
  '..',
  '.',
  ';',
  ':',
  '*',
  '?',
  '#',
  '//',
  '1',
  '\\',
]

function pathRequests(known: Known, random: Random, randomValues: number): HostileRequest[] {
  const worst = ['/', '/a', '%', '%41', '%2f', '%25', '%zz', '%ff', '../', '/./', '//', ';', ':', '*', '#', 'a', '9']
  const patterns = worst.map(pattern => [JSON.stringify(pattern), fill(pattern, headSpace)] as const)
  const more = Array.from(
    { length: 4 * randomValues },
    (_, index) => [`random ${index}`, randomText(random, pathPieces, headSpace)] as const,
  )
  const prefixes = {
    'the root': '/',
    v1: `${v1}/`,
    'a tenant': `${v1}/tenants/`,
    'a record': `${v1}/tenants/${known.tenantId}/catalog/vouchers/`,
    '/admin': '/admin/',
    'a setup link': '/admin/setup/',
    'an absolute target': 'http://',
  }
  return Object.entries(prefixes).flatMap(([where, prefix]) =>
    [...patterns, ...more].map(([name, text]) => ({
      name: `a path below ${where} of ${name}`,
      method: 'GET',
      path: (prefix + text).replace(/[^\x21-\x7e]/g, ''),
      headers: bearer(known),
      body: null,
    })),
  )
}

function queryRequests(known: Known): HostileRequest[] {
  const lists = {
    'the catalog': `${v1}/tenants/${known.tenantId}/catalog/vouchers`,
    'the list of tenants': `${v1}/tenants`,
    GraphQL: '/graphql',
    'the login': '/admin/login',
    'the audit': '/admin/audit',
    'the callback': '/admin/login/callback',
    '/livez': '/livez',
  }
  const parameters = ['cursor', 'updated_since', 'include', 'query', 'variables', 'next', 'because', 'state']
  const queries: Record<string, string> = {
    'one parameter, repeated': fill('cursor=1&', headSpace),
    'empty parameters': fill('a&', headSpace),
    ampersands: fill('&', headSpace),
    'equal signs': fill('=', headSpace),
    'question marks': fill('?', headSpace),
    'plus signs': fill('+', headSpace),
    'bad escapes': fill('%zz&', headSpace),
    'bad bytes': fill('%ff&', headSpace),
    'long bad bytes': `a=${fill('%f0', headSpace)}`,
    'distinct parameters': numbered(headSpace, index => `${index.toString(36)}=`, '&'),
    'numbers for names': numbered(headSpace, index => `${index * 1024}=`, '&'),
    'brackets for names': numbered(headSpace, index => `a[${index}]=`, '&'),
    'inherited names': fill('__proto__=1&constructor=1&', headSpace),
  }
  for (const parameter of parameters) {
    for (const [name, make] of Object.entries(texts)) {
      const escaped = encodeURIComponent(make(headSpace))
      // A cut in the middle of an escape is one more kind of error.
      queries[`${parameter} of ${name}`] = `${parameter}=${escaped}`.slice(0, headSpace)
      queries[`${parameter} of ${name}, short`] = `${parameter}=${encodeURIComponent(make(1_900)).slice(0, headSpace)}`
    }
  }
  return Object.entries(lists).flatMap(([where, path]) =>
    Object.entries(queries).flatMap(([name, query]): HostileRequest[] => {
      const asked = { path: `${path}?${query}`, headers: bearer(known) }
      const read = { ...asked, name: `a query of ${where}: ${name}`, method: 'GET', body: null }
      if (path !== '/graphql') return [read]
      const headers = [...asked.headers, json]
      return [read, { ...asked, name: `a query of GraphQL by POST: ${name}`, method: 'POST', headers, body: viewer }]
    }),
  )
}

/** Bodies that are JSON or nearly JSON. */
function jsonBodies(length: number, random: Random, randomValues: number): Record<string, string> {
  const bodies: Record<string, string> = {
    'nested lists': fill('[', length),
    'nested lists, closed': fill('[', length / 2) + fill(']', length / 2),
    'nested objects': fill('{"a":', length),
    'nested objects, closed': `${fill('{"a":', (length / 6) * 5)}1${fill('}', length / 6)}`.slice(0, length),
    'many keys': `{${numbered(length - 2, index => `"${index.toString(36)}":1`, ',')}}`,
    'the same key': `{${numbered(length - 2, () => '"qr_token":1', ',')}}`,
    'numbers for keys': `{${numbered(length - 2, index => `"${index * 1024}":1`, ',')}}`,
    'inherited keys': `{${numbered(length - 2, () => '"__proto__":{}', ',')}}`,
    'a long number': fill('9', length),
    'many numbers': `[${numbered(length - 2, () => '1e999', ',')}]`,
    'a long fraction': `0.${fill('1', length)}`,
    spaces: fill(' ', length),
    'an open string': `"${fill('a', length)}`,
    'escapes in a string': `"${fill('\\u0041', length - 6)}"`,
    surrogates: `"${fill('\\ud800', length - 6)}"`,
    'invalid UTF-8': fill('\ufffd', length / 3),
    commas: `[${fill(',', length)}`,
  }
  for (let index = 0; index < randomValues; index++) {
    bodies[`random ${index}`] = randomText(
      random,
      ['{', '}', '[', ']', '"', ':', ',', '\\', '1', 'a', ' '],
      length - 20,
    )
  }
  return bodies
}

function resolveRequests(known: Known, random: Random, randomValues: number): HostileRequest[] {
  const path = `${v1}/tenants/${known.tenantId}/redemptions/resolve`
  const headers = [...bearer(known), json]
  const bodies = jsonBodies(restBody, random, randomValues)
  for (const [name, make] of Object.entries(texts)) {
    // Escaped in JSON, some texts take six times their length; the second is as long as one may be.
    for (const length of [restBody / 6 - 100, 2_000]) {
      bodies[`qr_token of ${name}, ${length}`] = JSON.stringify({ qr_token: make(length) })
      bodies[`voucher_reference of ${name}, ${length}`] = JSON.stringify({ voucher_reference: make(length) })
    }
  }
  const requests = Object.entries(bodies).flatMap(([name, body]): HostileRequest[] => [
    { name: `resolve: ${name}`, method: 'POST', path, headers, body },
    // GraphQL documents have a corpus of their own; here their requests are hostile.
    { name: `GraphQL: ${name}`, method: 'POST', path: '/graphql', headers, body },
  ])
  const spaced = (length: number) => viewer.padEnd(length)
  return requests.concat([
    { name: 'resolve in chunks of a byte', method: 'POST', path, headers, body: '{}'.padEnd(restBody), chunkLength: 1 },
    {
      name: 'GraphQL in chunks of a byte',
      method: 'POST',
      path: '/graphql',
      headers,
      body: spaced(graphqlBody),
      chunkLength: 1,
    },
    {
      name: 'a body that is not read, in chunks of a byte',
      method: 'GET',
      path: '/livez',
      headers,
      body: fill('a', formBody),
      chunkLength: 1,
    },
  ])
}

function formRequests({ origin, login }: Known): HostileRequest[] {
  const headers: Line[] = [
    ['Origin', origin],
    ['Cookie', login.cookie],
    ['Content-Type', 'application/x-www-form-urlencoded'],
  ]
  const csrf = `_csrf=${encodeURIComponent(login.csrfToken)}`
  const space = formBody - csrf.length - 100
  const bodies: Record<string, string> = {
    'empty fields': fill('a&', space),
    'bad escapes': fill('%zz&', space),
    'bad bytes': fill('%ff&', space),
    'long bad bytes': `a=${fill('%f0', space)}`,
    'half a character': fill('%e2%82&', space),
    'distinct fields': numbered(space, index => `${index.toString(36)}=`, '&'),
    'one field, repeated': fill('email=a&', space),
    ampersands: fill('&', space),
    'plus signs': `email=${fill('+', space)}`,
  }
  for (const [name, make] of Object.entries(texts)) {
    for (const field of ['email', 'next', '_csrf']) {
      bodies[`${field} of ${name}`] = `${field}=${encodeURIComponent(make(space)).slice(0, space)}`
    }
  }
  // Only forms with a password count as sign-in attempts, whose number is limited.
  const passwords = ['letters', 'combining marks', 'combining marks in descending order', 'ligatures', 'Hangul letters']
  for (const name of passwords) {
    for (const length of [space, 11_000]) {
      const password = encodeURIComponent(texts[name]!(length)).slice(0, space)
      bodies[`password of ${name}, ${length}`] = `email=${encodeURIComponent(name)}@example.com&password=${password}`
    }
  }
  const requests = Object.entries(bodies).flatMap(([name, body]): HostileRequest[] =>
    ['/admin/login', '/admin/setup/unknown', '/admin/tokens/new'].map(path => ({
      name: `a form of ${path}: ${name}`,
      method: 'POST',
      path,
      headers,
      body: body.startsWith('_csrf=') ? body : `${csrf}&${body}`,
    })),
  )
  const body = `${csrf}&${fill('a', space)}`
  return [
    ...requests,
    { name: 'a form in chunks of a byte', method: 'POST', path: '/admin/login', headers, body, chunkLength: 1 },
  ]
}
