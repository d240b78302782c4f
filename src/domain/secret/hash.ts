import { createHash } from 'node:crypto'

/**
 * Returns the SHA-256 of a secret. The database stores only this hash. It needs no salt, because secrets are random and
 * long.
 */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()
