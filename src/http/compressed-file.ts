import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { etagOf, namesEtag } from './etag.ts'

const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

/** Compresses a large file once, in the threads of Node's pool. @param type its media type @returns the forms to send */
export async function compressFile(type: string, content: string | Buffer) {
  const identity = Buffer.from(content)
  const [br, gz] = await Promise.all([promisify(brotliCompress)(identity, quality), promisify(gzip)(identity)])
  return { type, etag: etagOf(identity), forms: { br, gzip: gz, identity } }
}

/** Sends a file in the form that `Accept-Encoding` asks for, or 304 when `If-None-Match` has its `ETag`. */
export function sendCompressedFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, etag, forms }: Awaited<ReturnType<typeof compressFile>>,
): FastifyReply {
  reply.headers({ 'Cache-Control': 'private, no-cache', ETag: etag, Vary: 'Accept-Encoding' })
  if (namesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
  const accepted = new Negotiator(request.raw).encodings(['br', 'gzip', 'identity'])
  const encoding = (['br', 'gzip'] as const).find(coding => accepted.includes(coding))
  if (encoding) reply.header('Content-Encoding', encoding)
  return reply.type(type).send(forms[encoding ?? 'identity'])
}
