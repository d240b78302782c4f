// The style sheets and scripts of all pages (`packages/pages`, `packages/dashboard`, Scalar and GraphiQL).
import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { assetsPath } from '../http/paths.ts'
import { createCompressedFileHandler } from './compressed-file.ts'

/** The folder into which the build puts the files. The path is right both from the sources and from `dist`. */
const assetsFolder = new URL('../../dist/assets/', import.meta.url)

const types: Record<string, string> = {
  '.css': 'text/css; charset=utf-8',
  '.ico': 'image/x-icon',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
}

/** The files that browsers and crawlers request at a fixed path. */
const fixedPathFiles: readonly string[] = ['favicon.ico', 'robots.txt']

/**
 * Serves each file as `GET /assets/{name}`, some as `GET /{name}`. Browsers cache it, and revalidate it by its `ETag`.
 *
 * @throws Error when the build was not run
 */
export function registerAssets(app: FastifyInstance): void {
  for (const name of readdirSync(assetsFolder)) {
    const type = types[extname(name)]
    if (!type) throw new Error(`${name} has no known media type: expected ${Object.keys(types).join(', ')}.`)
    const send = createCompressedFileHandler(type, () => readFile(new URL(name, assetsFolder)))
    app.get(fixedPathFiles.includes(name) ? `/${name}` : `${assetsPath}/${name}`, (request, reply) =>
      send(request, reply.header('X-Content-Type-Options', 'nosniff')),
    )
  }
}
