import { createHash } from 'node:crypto'

/** Returns the SHA-256 of a secret, the only form that is stored. Secrets are random and long: they need no salt. */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()
