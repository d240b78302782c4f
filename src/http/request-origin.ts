import type { FastifyRequest } from 'fastify'

/**
 * Returns the origin of the request's URL; an empty text when the `Host` header of the caller or a proxy is not valid.
 */
export function requestOrigin({ protocol, host }: FastifyRequest): string {
  const origin = `${protocol}://${host}`
  return /^https?:\/\/[\w.:[\]-]+$/.test(origin) ? origin : ''
}
