import { randomUUID } from 'node:crypto'

/** @returns the request's own `X-Request-Id` when it is one, else a new UUID (R17) */
export function requestId(given: string | string[] | undefined): string {
  return typeof given === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : randomUUID()
}
