import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'
import { refuseOtherMethods } from '../http/authenticated.ts'
import type { Authenticate } from '../http/caller.ts'
import { etagOf, namesEtag } from '../http/etag.ts'
import { openApiPath } from '../http/paths.ts'

/**
 * Serves the OpenAPI document, `schema/openapi.v1.json`. Requests for the document need no token and are not counted.
 * Other methods are refused as on all paths of v1 (R1, R8).
 *
 * @throws when the file cannot be read
 */
export function registerOpenApi(app: FastifyInstance, authenticate: Authenticate): void {
  const document = readFileSync(new URL('../../schema/openapi.v1.json', import.meta.url))
  const etag = etagOf(document)
  app.get(openApiPath, (request, reply) => {
    // Pages of other origins may read the document, because it is public. Caches revalidate each time, so a new
    // deployment is visible immediately.
    reply.headers({
      'Access-Control-Allow-Origin': '*',
      'Cache-Control': 'public, no-cache',
      ETag: etag,
      // Sets `Vary`, because the compression does not set it for status 304, which has no body (RFC 9110 §15.4.5).
      Vary: 'Accept-Encoding',
    })
    if (namesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.type('application/json; charset=utf-8').send(document)
  })
  // This is a scope of Fastify, because it loads after the REST routes, which add the methods that are refused here.
  app.register(async scope => {
    scope.addHook('onRequest', authenticate)
    refuseOtherMethods(scope, openApiPath, ['GET', 'HEAD'])
  })
}
