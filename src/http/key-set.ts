import type { FastifyInstance } from 'fastify'
import { maxAgeSeconds, type PublicKey } from '../domain/record/signing-key.ts'
import { etagOf, namesEtag } from './etag.ts'
import { keySetPath } from './paths.ts'

/**
 * Serves the public keys with which a redemption checks tokens (R26, RFC 7517). Requests for the keys need no token and
 * are not counted.
 *
 * @param published returns the keys that are published at present
 */
export function registerKeySet(app: FastifyInstance, published: () => readonly PublicKey[]): void {
  app.get(keySetPath, (request, reply) => {
    const body = Buffer.from(JSON.stringify({ keys: published() }))
    const etag = etagOf(body)
    // Pages of other origins may read the keys, because they are public.
    reply.headers({
      'Access-Control-Allow-Origin': '*',
      'Cache-Control': `public, max-age=${maxAgeSeconds}`,
      ETag: etag,
    })
    if (namesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
    return reply.type('application/json; charset=utf-8').send(body)
  })
}
