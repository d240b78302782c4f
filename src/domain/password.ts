import { randomBytes } from 'node:crypto'
import * as named from 'scrypt-kdf'
import type { FieldErrors } from './errors.ts'
import { createSemaphore } from './semaphore.ts'

// The library's types say that its functions are exported by name; they belong to its default export.
const { default: scrypt } = named as unknown as { default: typeof named }

/** Scrypt with a setting of OWASP's Password Storage Cheat Sheet: 32 MiB, in three passes. */
const cost = { logN: 15, r: 8, p: 3 }

const minLength = 12
const maxLength = 200

/** What a person is told before he chooses one. */
export const passwordHint = `At least ${minLength} characters. A few words that only you would put together do well.`

/** @returns what is wrong with a new password, by the fields `password` and `again` */
export function passwordErrors(email: string, password: string, again: string): FieldErrors {
  const length = [...password].length
  if (length < minLength) return { password: [`Give a password of at least ${minLength} characters.`] }
  if (length > maxLength) return { password: [`Give a password of at most ${maxLength} characters.`] }
  if (password.trim().toLowerCase() === email) return { password: ['Give a password that is not your e-mail.'] }
  return password === again ? {} : { again: ['The two passwords are not the same.'] }
}

/**
 * The longest text that is compared with a password, in UTF-16 units: no usual spelling of 200 characters is longer. The
 * time to normalise a text grows with the square of its length.
 */
const maxCompared = 2_000

// NIST SP 800-63B, 3.1.1.2: the same password, whichever way a keyboard composes its characters.
const normal = (password: string) => password.normalize('NFKC')

/**
 * Each look at a password holds one of libuv's four threads for a good tenth of a second: however many come, others
 * get theirs.
 */
const semaphore = createSemaphore({ working: 2, waiting: 20, retryAfter: 5 })

const hash = async (password: string) => Buffer.from(await scrypt.kdf(normal(password), cost)).toString('base64')

/**
 * @returns an scrypt key with its salt and setting, in base64
 * @throws `UNAVAILABLE` when too many passwords are looked at just now
 */
export const hashPassword = (password: string): Promise<string> => semaphore.run(() => hash(password))

/** The hash of no password: to look at it takes as long as to look at a real one. */
let decoy: Promise<string> | undefined

/**
 * @param kept null: there is none; the work is done all the same, so that the time does not tell
 * @throws `UNAVAILABLE` when too many passwords are looked at just now
 */
export async function verifyPassword(kept: string | null, password: string): Promise<boolean> {
  // Made by whoever comes first, whether there is an account or not.
  decoy ??= hash(randomBytes(32).toString('base64'))
  const instead = await decoy
  const key = Buffer.from(kept ?? instead, 'base64')
  const compared = password.length > maxCompared ? '' : normal(password)
  return (await semaphore.run(() => scrypt.verify(key, compared))) && kept !== null
}
