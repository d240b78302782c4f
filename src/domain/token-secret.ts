import { randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'

const prefix = 'vgw_'
const secretLength = 43
const checksumLength = 6
const form = new RegExp(`^${prefix}[0-9A-Za-z]{${secretLength + checksumLength}}$`)
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = digits[Number(rest % 62n)] + text
  return text
}

const checksum = (body: string) => base62(BigInt(crc32(body)), checksumLength)

/** @returns a new secret: prefix, 256 random bits and a checksum, all of it letters and digits */
export function createTokenSecret(): string {
  const body = prefix + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength)
  return body + checksum(body)
}

/** @returns whether the text could be a secret of ours: a mistyped or foreign one is refused without a look-up */
export function isTokenSecret(text: string): boolean {
  return form.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)
}

/** What may be shown of a secret: its visible start and last four characters. */
export const secretHint = (secret: string): string => `${secret.slice(0, 8)}…${secret.slice(-4)}`
