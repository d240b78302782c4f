import type { FastifyRequest } from 'fastify'
import { type Config, isLoopback } from '../config.ts'
import { GatewayError } from '../domain/errors.ts'

const notHere = () =>
  new GatewayError(
    'FORBIDDEN',
    'Without PUBLIC_URL this page answers on the machine of the service alone, as localhost, and not through a proxy. ' +
      'Set PUBLIC_URL to the address that people use, and start the service anew. For a container whose port is ' +
      'mapped to this machine, that is http://localhost and the port.',
  )

const elsewhere = (publicUrl: string) =>
  new GatewayError(
    'FORBIDDEN',
    `This page answers at ${publicUrl} alone. To reach it at another address, set PUBLIC_URL to that, and start the ` +
      'service anew.',
  )

const foreign = () =>
  new GatewayError(
    'FORBIDDEN',
    'This was not sent from a page of this service, and nothing was changed. Open the page at its own address, and ' +
      'try again.',
  )

/** @returns the origin that the `Host` header names; null: it names none of this machine (DNS rebinding) */
function localOrigin(host = ''): string | null {
  const origin = `http://${host.toLowerCase()}`
  if (!/^[\w.:[\]-]+$/.test(host) || !URL.canParse(origin) || !isLoopback(new URL(origin).hostname)) return null
  return new URL(origin).origin
}

/** Whether the connection begins on this machine, and no proxy on it says that it speaks for somebody else. */
function isDirect({ socket, headers }: FastifyRequest): boolean {
  const local = /^(::1|(::ffff:)?127(\.\d+){3})$/i.test(socket.remoteAddress ?? '')
  return local && !Object.keys(headers).some(name => /^(forwarded|via|x-real-ip|x-forwarded-.+)$/.test(name))
}

/**
 * The origin under which the page is visited: `PUBLIC_URL`, and without it one of this machine, whose own people alone
 * may visit it then. Under plain http, which no certificate vouches for, the request has to name it.
 *
 * @throws `FORBIDDEN`
 */
function visitedOriginOf(request: FastifyRequest, { publicUrl }: Config): string {
  if (publicUrl?.startsWith('https:')) return publicUrl
  const origin = localOrigin(request.headers.host)
  if (publicUrl !== undefined) {
    if (origin !== publicUrl) throw elsewhere(publicUrl)
    return publicUrl
  }
  if (origin === null || !isDirect(request)) throw notHere()
  return origin
}

/**
 * Notes under which origin the page is visited, and lets only forms through that were sent from there.
 *
 * @throws `FORBIDDEN`
 */
export function checkOrigin(request: FastifyRequest, config: Config): void {
  request.visitedOrigin = visitedOriginOf(request, config)
  const reads = request.method === 'GET' || request.method === 'HEAD'
  if (!reads && request.headers.origin !== request.visitedOrigin) throw foreign()
}
