import { randomBytes } from 'node:crypto'
import argon2 from 'argon2'
import type { Faults } from './errors.ts'

/** Argon2id with the first of the settings in OWASP's Password Storage Cheat Sheet: 46 MiB, one pass, one lane. */
const cost = { type: argon2.argon2id, memoryCost: 47_104, timeCost: 1, parallelism: 1, hashLength: 32 } as const

const minLength = 12
const maxLength = 200

/** What a person is told before he chooses one. */
export const passwordHint = `At least ${minLength} characters. A few words that only you would put together do well.`

/** @returns what is wrong with a new password, by the fields `password` and `again` */
export function passwordFaults(email: string, password: string, again: string): Faults {
  const length = [...password].length
  if (length < minLength) return { password: [`Give a password of at least ${minLength} characters.`] }
  if (length > maxLength) return { password: [`Give a password of at most ${maxLength} characters.`] }
  if (password.trim().toLowerCase() === email) return { password: ['Give a password that is not your e-mail.'] }
  return password === again ? {} : { again: ['The two passwords are not the same.'] }
}

// NIST SP 800-63B, 3.1.1.2: the same password, whichever way a keyboard composes its characters.
const normal = (password: string) => password.normalize('NFKC')

/** @returns an argon2id hash in its usual text form */
export const hashPassword = (password: string): Promise<string> => argon2.hash(normal(password), cost)

const unpadded = (bytes: Buffer) => bytes.toString('base64').replaceAll('=', '')

/** The hash of no password: to look at it takes as long as to look at a real one. */
const decoy = `$argon2id$v=19$m=${cost.memoryCost},t=${cost.timeCost},p=${cost.parallelism}$${unpadded(randomBytes(16))}$${unpadded(randomBytes(cost.hashLength))}`

/** @param hash null: there is none; the work is done all the same, so that the time does not tell */
export const verifyPassword = (hash: string | null, password: string): Promise<boolean> =>
  argon2.verify(hash ?? decoy, normal(password))
