import type { FastifyRequest } from 'fastify'
import { isLoopback } from '../config/values.ts'

/**
 * Returns the origin that the `Host` header names, in lower case, when it is a name of this machine; otherwise null.
 * Another name that resolves to this machine may belong to a hostile page (DNS rebinding).
 */
export function localOrigin({ headers: { host = '' } }: FastifyRequest): string | null {
  const origin = `http://${host.toLowerCase()}`
  if (!/^[\w.:[\]-]+$/.test(host) || !URL.canParse(origin) || !isLoopback(new URL(origin).hostname)) return null
  return new URL(origin).origin
}

/**
 * Returns `localOrigin` of a request that comes from this machine without a proxy; otherwise null. By default nginx
 * before 1.29.7 adds no header and sends its own address as `Host`, but it sends HTTP/1.0, as no browser does.
 */
export function directLocalOrigin(request: FastifyRequest): string | null {
  const { socket, headers, raw } = request
  const isLocal = /^(::1|(::ffff:)?127(\.\d+){3})$/i.test(socket.remoteAddress ?? '')
  const isForwarded =
    raw.httpVersion === '1.0' ||
    Object.keys(headers).some(name => /^(forwarded|via|x-real-ip|x-forwarded-.+)$/.test(name))
  return isLocal && !isForwarded ? localOrigin(request) : null
}

/**
 * Returns the origin of the request's URL; an empty text when the `Host` header of the caller or a proxy is not valid.
 */
export function requestOrigin({ protocol, host }: FastifyRequest): string {
  const origin = `${protocol}://${host}`
  return /^https?:\/\/[\w.:[\]-]+$/.test(origin) ? origin : ''
}
