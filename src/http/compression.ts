import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'

/**
 * How long a body has to be to be compressed, in bytes or in characters, which are no more. A shorter one goes in one packet
 * with its headers, and is there no sooner for being smaller (docs/performance.md, Compression).
 */
export const compressibleFrom = 1024

const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } }

/**
 * The codings that are offered, each with the least effort: more of it takes far longer and saves little. Not by another
 * thread: that would spare this one at most half of the time, and take up to three times as much in all.
 */
export const codings: Record<string, (body: string | Buffer) => Buffer> = {
  br: body => brotliCompressSync(body, brotliOptions),
  gzip: body => gzipSync(body, { level: 1 }),
}

const offered = [...Object.keys(codings), 'identity']

/**
 * The coding that the caller likes best (RFC 9110 §12.5.3); of those that he likes the same, the first that he names.
 * Without the header any would do, but who does not ask may not understand.
 */
function codingFor({ headers, raw }: FastifyRequest): string {
  const best = headers['accept-encoding'] ? new Negotiator(raw).encoding(offered) : undefined
  return best ?? 'identity'
}

/**
 * Compresses the answers of a scope for callers that ask for it in `Accept-Encoding`. `Vary` (RFC 9110 §12.5.5) says so
 * on all that are long enough, compressed or not.
 *
 * Only for a scope whose callers are known by a header that no browser sends of itself: where somebody else's page can
 * make a browser ask, the length of a compressed answer betrays secrets that stand in it beside what was asked (BREACH).
 */
export function compressAnswers(scope: FastifyInstance): void {
  scope.addHook('onSend', (request, reply, payload, done) => {
    // What else there is is a stream, or nothing at all.
    const whole = typeof payload === 'string' || Buffer.isBuffer(payload)
    if (!whole || payload.length < compressibleFrom) {
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
