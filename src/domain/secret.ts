import { createHash } from 'node:crypto'

/** @returns the SHA-256 of a secret: all that is kept of one. Secrets are random and long, so it needs no salt. */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()
