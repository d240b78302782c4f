import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { FastifyInstance } from 'fastify'

/** All files that pages load, and what they are. */
const files = {
  'admin.css': 'text/css; charset=utf-8',
  'copy.js': 'text/javascript; charset=utf-8',
  'icon.svg': 'image/svg+xml',
}

/** `GET /admin/assets/…`: what pages load, kept by the browser until it changes. */
export function registerAssets(scope: FastifyInstance): void {
  for (const [name, type] of Object.entries(files)) {
    const content = readFileSync(new URL(`./assets/${name}`, import.meta.url))
    const etag = `"${createHash('sha256').update(content).digest('base64url')}"`
    scope.get(`/assets/${name}`, (request, reply) => {
      reply.headers({ 'Cache-Control': 'private, no-cache', ETag: etag })
      if (request.headers['if-none-match'] === etag) return reply.code(304).send()
      return reply.type(type).send(content)
    })
  }
}
