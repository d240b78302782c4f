import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const prefix = 'vgw_'
const secretLength = 43
const checksumLength = 6
const format = new RegExp(`^${prefix}[0-9A-Za-z]{${secretLength + checksumLength}}$`)
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = digits[Number(rest % 62n)] + text
  return text
}

const checksum = (body: string) => base62(BigInt(crc32(body)), checksumLength)

/** Returns a new secret: the prefix `vgw_`, 256 random bits and a CRC-32, both in base 62. */
export function createTokenSecret(): string {
  const body = prefix + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength)
  return body + checksum(body)
}

/**
 * Returns whether a text has the format and the correct checksum of a secret. The database need not look up other
 * texts.
 */
export function isTokenSecret(text: string): boolean {
  return format.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)
}

/** Returns the part of a secret that may be shown: the first eight and the last four characters. */
export const secretHint = (secret: string): string => `${secret.slice(0, 8)}…${secret.slice(-4)}`
