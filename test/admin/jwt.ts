import { createHmac, type KeyObject, sign } from 'node:crypto'

type Json = Record<string, unknown>

const encode = (part: Json) => Buffer.from(JSON.stringify(part)).toString('base64url')
const decode = (part = ''): Json => JSON.parse(Buffer.from(part, 'base64url').toString())

/** @returns the header and the claims of a JSON web token, without verification of its signature */
export function readJwt(token: string): { header: Json; claims: Json } {
  const [header, claims] = token.split('.')
  return { header: decode(header), claims: decode(claims) }
}

/** @param key with `RS256` a private key; with `HS256` the secret; with any other `alg` the token is not signed */
export function writeJwt({ header, claims }: { header: Json; claims: Json }, key: KeyObject | string | Buffer): string {
  const signed = `${encode(header)}.${encode(claims)}`
  return `${signed}.${signature(header.alg, signed, key).toString('base64url')}`
}

function signature(alg: unknown, text: string, key: KeyObject | string | Buffer): Buffer {
  if (alg === 'RS256') return sign('sha256', Buffer.from(text), key)
  if (alg === 'HS256') return createHmac('sha256', key).update(text).digest()
  return Buffer.alloc(0)
}
