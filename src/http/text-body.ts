import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../domain/errors.ts'

/**
 * Lets the routes of a scope read bodies as text, without a byte order mark (RFC 8259 §8.1). A compressed body is 415
 * (RFC 9110 §15.5.16).
 *
 * @param contentType the media type that is read, or `*` for any
 * @param bodyLimit the maximum size, in bytes
 */
export function readTextBodies(scope: FastifyInstance, contentType: string, bodyLimit: number): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(contentType, { parseAs: 'string', bodyLimit }, (_request, body, done) =>
    done(null, String(body).replace(/^\uFEFF/, '')),
  )
  // This hook runs before the body is read, because Fastify later compares Content-Length with the length of the text.
  scope.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-encoding': coding = 'identity' } = request.headers
    const isRead = request.method === 'POST' && !request.is404 && hasBody(request)
    if (!isRead || /^(identity)?$/i.test(coding)) return done(null, payload)
    reply.header('Accept-Encoding', 'identity')
    done(new GatewayError('UNSUPPORTED_MEDIA_TYPE', 'Send the body as it is, without the header Content-Encoding.'))
  })
}

/** Returns whether the request has a body (RFC 9112 §6.3). */
export const hasBody = ({ headers }: { headers: IncomingHttpHeaders }) =>
  headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0'
