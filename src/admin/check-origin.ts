import type { FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { GatewayError } from '../domain/errors.ts'
import { directLocalOrigin, localOrigin } from '../http/origin.ts'

const onlyOnThisMachine =
  'Without PUBLIC_URL this page is available only on the machine of the service, as localhost, and not through a ' +
  'proxy. Set PUBLIC_URL to the address that people use, and restart the service. For a container whose port is ' +
  'mapped to this machine, that is http://localhost and the port, for example http://localhost:8080.'

const onlyAt = (publicUrl: string) =>
  `This page is available only at ${publicUrl}. To use another address, set PUBLIC_URL to it, and restart the service.`

const fromAnotherSite =
  'This was not sent from a page of this service, and nothing was changed. Open the page at its own address, and try again.'

const forbiddenError = (message: string) => new GatewayError('FORBIDDEN', message)

/**
 * Returns the origin of `PUBLIC_URL`. Without `PUBLIC_URL`, returns an origin of this machine, and only for direct
 * connections. Over plain http, where no certificate names the host, the `Host` header must match.
 *
 * @throws `FORBIDDEN`
 */
function requirePublicOrigin(request: FastifyRequest, { publicUrl }: Config): string {
  if (publicUrl?.startsWith('https:')) return publicUrl
  if (publicUrl !== undefined) {
    if (localOrigin(request) !== publicUrl) throw forbiddenError(onlyAt(publicUrl))
    return publicUrl
  }
  const origin = directLocalOrigin(request)
  if (origin === null) throw forbiddenError(onlyOnThisMachine)
  return origin
}

/**
 * Sets `request.publicOrigin`, and accepts a form only when its `Origin` header has the same value.
 *
 * @throws `FORBIDDEN`
 */
export function checkOrigin(request: FastifyRequest, config: Config): void {
  request.publicOrigin = requirePublicOrigin(request, config)
  const reads = request.method === 'GET' || request.method === 'HEAD'
  if (!reads && request.headers.origin !== request.publicOrigin) throw forbiddenError(fromAnotherSite)
}
