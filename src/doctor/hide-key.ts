import { createHash } from 'node:crypto'

const publicKeyPattern = /^(-?\d+|[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12})$/i

/**
 * Returns the key of a source as it may be shown: unchanged if it is a number or a UUID, and otherwise the beginning of
 * its SHA-256, because the key may be the code of a voucher. `docs/records.md` has the statement that finds the row by
 * this text.
 */
export const hideKey = (key: string): string =>
  publicKeyPattern.test(key) ? key : `sha256:${createHash('sha256').update(key).digest('hex').slice(0, 8)}`
