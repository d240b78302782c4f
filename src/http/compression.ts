import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/**
 * The minimum length of a body that is compressed, in bytes, or for a text in characters. A shorter body fits into one
 * packet with its headers, so compression would not make it arrive sooner (docs/performance.md, Compression).
 */
export const minCompressedBytes = 1024

/** Brotli at its fastest level. */
export const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }

/**
 * The content codings that the service offers, each at its fastest level, because higher levels take far longer and
 * save little. Compression runs on this thread: a worker thread would save at most half of this time, but needs up to
 * three times the total CPU time.
 */
const codings: Record<string, (body: string | Buffer) => Buffer> = {
  br: body => brotliCompressSync(body, brotliOptions),
  gzip: body => gzipSync(body, { level: 1 }),
}

const offeredCodings = [...Object.keys(codings), 'identity']

/**
 * Returns the coding with the highest weight in `Accept-Encoding` (RFC 9110 §12.5.3); among equal weights, the first.
 * Without the header, returns `identity`, because such a client may not be able to decode any other coding.
 */
export function codingFor({ headers, raw }: FastifyRequest): string {
  const best = headers['accept-encoding'] ? new Negotiator(raw).encoding(offeredCodings) : undefined
  return best ?? 'identity'
}

/**
 * Compresses the responses of a scope with the coding that `Accept-Encoding` prefers. Every response that is long
 * enough has `Vary` (RFC 9110 §12.5.5), compressed or not.
 *
 * Use it only where a caller authenticates with a header that a browser does not send by itself. Otherwise a foreign
 * page could send requests and learn secrets from the length of the compressed responses (BREACH).
 */
export function compressResponses(scope: FastifyInstance): void {
  scope.addHook('onSend', (request, reply, payload, done) => {
    // Other payloads (streams and undefined) are not compressed here.
    const whole = typeof payload === 'string' || Buffer.isBuffer(payload)
    if (!whole || payload.length < minCompressedBytes) {
      done(null, payload)
      return
    }
    const coding = codingFor(request)
    const compress = codings[coding]
    reply.header('Vary', 'Accept-Encoding')
    if (compress) reply.header('Content-Encoding', coding)
    done(null, compress ? compress(payload) : payload)
  })
}
