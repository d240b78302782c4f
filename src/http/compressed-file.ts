import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import Negotiator from 'negotiator'
import { mediaTypeOf } from './assets.ts'
import { etagOf, namesEtag } from './etag.ts'
import { loadOnce } from './load-once.ts'

/** A file in each form in which it is sent. */
export interface CompressedFile {
  type: string
  etag: string
  forms: { br: Buffer; gzip: Buffer; identity: Buffer }
}

const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }

/**
 * Compresses a large file once, in the threads of Node's pool.
 *
 * @param type its media type
 */
export async function compressFile(type: string, content: string | Buffer): Promise<CompressedFile> {
  const identity = Buffer.from(content)
  const [br, gz] = await Promise.all([promisify(brotliCompress)(identity, quality), promisify(gzip)(identity)])
  return { type, etag: etagOf(identity), forms: { br, gzip: gz, identity } }
}

/** Sends a file in the form that `Accept-Encoding` asks for, or 304 when `If-None-Match` has its `ETag`. */
export function sendCompressedFile(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, etag, forms }: CompressedFile,
): FastifyReply {
  reply.headers({ ETag: etag, Vary: 'Accept-Encoding' })
  if (namesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
  const accepted = new Negotiator(request.raw).encodings(['br', 'gzip', 'identity'])
  const encoding = (['br', 'gzip'] as const).find(coding => accepted.includes(coding))
  if (encoding) reply.header('Content-Encoding', encoding)
  return reply.type(type).send(forms[encoding ?? 'identity'])
}

interface CompressedPage<Name extends string> {
  /** The path of the page. The file without a name is the page; the others are below it. */
  path: string
  names: readonly Name[]
  headers: Record<string, string>
  /** Returns the texts of all files. */
  read: () => Promise<Record<Name, string>>
}

/** Serves a page and the files that only it loads: made when first requested, revalidated by `ETag`. */
export function serveCompressedPage<Name extends string>(
  app: FastifyInstance,
  { path, names, headers, read }: CompressedPage<Name>,
): void {
  const files = loadOnce(async () => {
    const texts = await read()
    const compress = async (name: Name) =>
      [name, await compressFile(mediaTypeOf(name || 'index.html'), texts[name])] as const
    return new Map(await Promise.all(names.map(compress)))
  })
  for (const name of names) {
    app.get(name === '' ? path : `${path}/${name}`, async (request, reply) => {
      reply.headers({ 'Cache-Control': 'private, no-cache', ...headers })
      return sendCompressedFile(request, reply, (await files()).get(name)!)
    })
  }
}
