import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { loadOnce } from '../async/load-once.ts'
import { etagOf, namesEtag } from '../http/etag.ts'

const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

/**
 * Creates the handler that serves a large file. The file is loaded and compressed at its first request, in the threads
 * of Node's pool. Each request gets the encoding that `Accept-Encoding` asks for, or 304 when `If-None-Match` has the
 * file's `ETag`.
 *
 * @param type its media type
 */
export function createCompressedFileHandler(type: string, load: () => Promise<string | Buffer>) {
  const file = loadOnce(async () => {
    const identity = Buffer.from(await load())
    const [br, gz] = await Promise.all([promisify(brotliCompress)(identity, quality), promisify(gzip)(identity)])
    return { etag: etagOf(identity), forms: { br, gzip: gz, identity } }
  })
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { etag, forms } = await file()
    reply.headers({ 'Cache-Control': 'private, no-cache', ETag: etag, Vary: 'Accept-Encoding' })
    if (namesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
    const accepted = new Negotiator(request.raw).encodings(['br', 'gzip', 'identity'])
    const encoding = (['br', 'gzip'] as const).find(coding => accepted.includes(coding))
    if (encoding) reply.header('Content-Encoding', encoding)
    return reply.type(type).send(forms[encoding ?? 'identity'])
  }
}
