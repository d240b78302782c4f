import type { FastifyRequest } from 'fastify'
import { type Config, isLoopback } from '../config.ts'
import { GatewayError } from '../domain/errors.ts'

const notHere = () =>
  new GatewayError(
    'FORBIDDEN',
    'This page answers on this machine alone, as localhost. To reach it under another name, set PUBLIC_URL to the ' +
      'address that people use, and start the service anew.',
  )

const foreign = () =>
  new GatewayError(
    'FORBIDDEN',
    'This was not sent from a page of this service, and nothing was changed. Open the page at its own address, and ' +
      'try again.',
  )

/**
 * The origin under which the page is visited. Without `PUBLIC_URL` only the names of this machine will do, so that no
 * other name can be pointed here (DNS rebinding).
 *
 * @throws `FORBIDDEN`
 */
function visitedOriginOf({ headers: { host = '' } }: FastifyRequest, { publicUrl }: Config): string {
  if (publicUrl !== undefined) return publicUrl
  const origin = `http://${host.toLowerCase()}`
  if (!/^[\w.:[\]-]+$/.test(host) || !URL.canParse(origin) || !isLoopback(new URL(origin).hostname)) throw notHere()
  return new URL(origin).origin
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
