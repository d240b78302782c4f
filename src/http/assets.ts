import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { etagOf, namesEtag } from './etag.ts'
import { assetsPath } from './paths.ts'

const types: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/**
 * Returns the media type of a file.
 *
 * @throws Error when its extension is none of those that pages load
 */
export function mediaTypeOf(name: string): string {
  const type = types[extname(name)]
  if (!type) throw new Error(`${name} has no known media type: expected ${Object.keys(types).join(', ')}.`)
  return type
}

/**
 * Serves files of a folder as `GET {assetsPath}/{name}`. Browsers cache them and revalidate them by `ETag`.
 *
 * @param scope the Fastify scope; its prefix comes before `assetsPath`
 * @param folder the folder's URL, which ends in `/`
 * @param names file names with the extension `.css`, `.js` or `.svg`
 * @throws Error when a file has another extension, or cannot be read
 */
export function serveAssets(scope: FastifyInstance, folder: URL, names: readonly string[]): void {
  for (const name of names) {
    const type = mediaTypeOf(name)
    const content = readFileSync(new URL(name, folder))
    const etag = etagOf(content)
    scope.get(`${assetsPath}/${name}`, (request, reply) => {
      reply.headers({ 'Cache-Control': 'private, no-cache', 'X-Content-Type-Options': 'nosniff', ETag: etag })
      if (namesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send()
      return reply.type(type).send(content)
    })
  }
}

/** Serves the stylesheets, the scripts and the icon that pages share. */
export const registerSharedAssets = (app: FastifyInstance): void =>
  serveAssets(app, new URL('./assets/', import.meta.url), [
    'site.css',
    'base.css',
    'site.js',
    'copy.js',
    'repair.js',
    'icon.svg',
  ])
