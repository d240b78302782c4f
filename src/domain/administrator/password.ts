import { createHash, randomBytes } from 'node:crypto'
import * as named from 'scrypt-kdf'
import { type FieldErrors, GatewayError } from '../errors.ts'
import { Semaphore } from '../rate/semaphore.ts'

// The types of the library declare named exports, but the functions are members of the default export.
const { default: scrypt } = named as unknown as { default: typeof named }

/** Scrypt parameters of OWASP's Password Storage Cheat Sheet: 32 MiB, in three passes. */
const cost = { logN: 15, r: 8, p: 3 }

const minLength = 12
const maxLength = 200

export const passwordHint = `At least ${minLength} characters, for example a few unrelated words.`

/** Returns the errors of a new password, for the form fields `password` and `again`. */
export function passwordErrors(email: string, password: string, again: string): FieldErrors {
  const length = [...password].length
  if (length < minLength) return { password: [`Give a password of at least ${minLength} characters.`] }
  if (length > maxLength) return { password: [`Give a password of at most ${maxLength} characters.`] }
  if (password.trim().toLowerCase() === email) return { password: ['Give a password that is not your e-mail.'] }
  return password === again ? {} : { again: ['The two passwords are not the same.'] }
}

/**
 * The maximum length of a text that is compared with a password, in UTF-16 units. A password of 200 characters is
 * always shorter. Longer texts are rejected, because the time to normalise a text grows with the square of its length.
 */
const maxComparedLength = 2_000

// NIST SP 800-63B, 3.1.1.2: keyboards compose the same characters in different ways.
const normalize = (password: string) => password.normalize('NFKC')

/**
 * Limits the concurrent checks to two, because each check occupies one of libuv's four threads for more than 100 ms.
 */
const semaphore = new Semaphore({
  maxRunning: 2,
  maxWaiting: 20,
  tooMany: () =>
    new GatewayError('UNAVAILABLE', 'Too many passwords are being checked. Try again in a few seconds.', {
      retryAfter: 5,
    }),
})

/** Returns an scrypt key with its salt and parameters, in base64. @throws `UNAVAILABLE`, like `verifyPassword` */
export async function hashPassword(password: string): Promise<string> {
  const key = await semaphore.run(() => scrypt.kdf(normalize(password), cost))
  return Buffer.from(key).toString('base64')
}

/**
 * Returns a hash that no password matches. Its check takes as long as the check of a real hash. The hash is random
 * bytes in the format of a real hash, because the computation of a real hash would double the time of the first sign-in
 * after a start.
 */
function createDummyKey(): Buffer {
  const key = randomBytes(96)
  key.write('scrypt\0', 'latin1')
  key.writeUInt8(cost.logN, 7)
  key.writeUInt32BE(cost.r, 8)
  key.writeUInt32BE(cost.p, 12)
  createHash('sha256').update(key.subarray(0, 48)).digest().copy(key, 48, 0, 16)
  return key
}

const dummyKey = createDummyKey()

/**
 * Returns whether the password matches the hash.
 *
 * @param storedHash null when there is no account; then the check takes the same time, and fails
 * @throws `UNAVAILABLE` when too many passwords are being checked
 */
export async function verifyPassword(storedHash: string | null, password: string): Promise<boolean> {
  const key = storedHash === null ? dummyKey : Buffer.from(storedHash, 'base64')
  const compared = password.length > maxComparedLength ? '' : normalize(password)
  return (await semaphore.run(() => scrypt.verify(key, compared))) && storedHash !== null
}
