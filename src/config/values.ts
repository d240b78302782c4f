/** Parses the values of variables. Each message continues a sentence that begins with the name of the variable. */
import { createECDH } from 'node:crypto'
import { z } from 'zod'
import { DatabaseUrlError, readDatabaseUrl } from '#database-url'

/** Returns whether the host of a URL is this machine. */
export const isLoopback = (hostname: string) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

/** A whole number between two bounds. */
export const integer = (from: number, to: number) =>
  z
    .string()
    .refine(
      text => /^\d+$/.test(text) && Number(text) >= from && Number(text) <= to,
      `must be a whole number from ${from} to ${to}`,
    )
    .meta({ values: `${from} to ${to}` })
    .transform(Number)

/** One of the given words. */
export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, { error: `must be one of: ${words.join(', ')}` })

export const flag = oneOf(['on', 'off']).transform(word => word === 'on')

/**
 * Parses the choice of requests that the log has: no requests, all refused requests, or all refused requests and a
 * share of the other requests.
 */
export const requestLog = z
  .string()
  .regex(
    /^(all|errors|off|sample:(0\.0*[1-9]\d*|1(\.0+)?))$/,
    'must be one of: all, errors, sample:0.01 (any share above 0, up to 1), off',
  )
  .transform(text => ({
    refused: text !== 'off',
    share: text === 'all' ? 1 : Number(/^sample:(.*)/.exec(text)?.[1] ?? 0),
  }))

export const words = z.string().transform(text => text.split(',').flatMap(part => part.trim() || []))

/** Private keys of the curve P-256: not every number of 32 bytes is a valid key. */
export const privateKeys = words
  .refine(
    keys =>
      keys.length > 0 && keys.every(key => /^[0-9a-fA-F]{64}$/.test(key) && isPrivateKey(Buffer.from(key, 'hex'))),
    'must be private keys of P-256, each 64 hexadecimal digits, separated by commas',
  )
  .transform(keys => keys.map(key => Buffer.from(key, 'hex')))

/** A key of 32 bytes. */
export const key = z
  .string()
  .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits (32 bytes)')
  .transform(text => Buffer.from(text, 'hex'))

function isPrivateKey(scalar: Buffer): boolean {
  try {
    createECDH('prime256v1').setPrivateKey(scalar)
    return true
  } catch {
    return false
  }
}

export const domains = words.refine(
  parts => parts.every(part => /^[\p{L}\d-]+(\.[\p{L}\d-]+)*$/u.test(part)),
  'must be domains, separated by commas, for example example.com,example.org',
)

/** An e-mail address, as a mailto: URI, or an https: URL (RFC 9116 §2.5.3). */
const contact = z.union([
  z.email().transform(address => `mailto:${address}`),
  z.url({ protocol: /^https$/, normalize: true }),
])

export const contacts = z
  .string()
  .transform(text => text.split(/[\s,]+/).flatMap(part => (part === '' ? [] : [contact.safeParse(part).data])))
  .refine(
    uris => uris.length > 0 && !uris.includes(undefined),
    'must be e-mail addresses and https:// URLs, separated by commas or spaces, for example security@example.com',
  )
  .transform(uris => uris.flatMap(uri => uri ?? []))

const addressRange = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])

export const addressRanges = words.refine(
  // A range of all addresses is rejected, because then every caller could claim any address.
  parts => parts.length > 0 && parts.every(part => addressRange.safeParse(part).success && !part.endsWith('/0')),
  'must be IP addresses and CIDR ranges, separated by commas, for example 10.0.0.0/8,192.168.1.7',
)

/** The URL of a database. All parameters of the URL are checked. */
export const databaseUrl = z.string().superRefine((text, context) => {
  try {
    readDatabaseUrl(text)
  } catch (error) {
    if (!(error instanceof DatabaseUrlError)) throw error
    for (const message of error.problems) context.addIssue({ code: 'custom', message })
  }
})

export const databaseUrls = words.pipe(z.array(databaseUrl))

export const redisUrl = z.url({
  protocol: /^rediss?$/,
  error: 'must be a redis:// or rediss:// URL, for example redis://user:password@host:6379/0',
})

const privacy = 'must be an https:// URL (http:// only for this machine), for example https://gateway.example.com'
/** A URL with https, or of this machine: no request goes over a network unencrypted. */
export const privateUrl = z
  .url({ protocol: /^https?$/, error: privacy })
  .transform(text => new URL(text))
  .refine(({ protocol, hostname }) => protocol !== 'http:' || isLoopback(hostname), privacy)

export const origin = privateUrl
  .refine(
    ({ username, password }) => username + password === '',
    'must not have a user name or password, for example https://gateway.example.com',
  )
  .refine(
    ({ href, pathname }) => pathname === '/' && !/[?#]/.test(href),
    'must not have a path, query or fragment, for example https://gateway.example.com',
  )
  .transform(url => url.origin)
