import type { FastifyRequest } from 'fastify'

/** Returns the origin of the request's URL; an empty text when the caller or a proxy sent another text than that of one. */
export function requestOrigin({ protocol, host }: FastifyRequest): string {
  const origin = `${protocol}://${host}`
  return /^https?:\/\/[\w.:[\]-]+$/.test(origin) ? origin : ''
}
