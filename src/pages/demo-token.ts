import type { FastifyInstance } from 'fastify'
import { directLocalOrigin } from '../http/origin.ts'

/**
 * Registers `GET /demo-token`, which lets pages of the demo sign in automatically. Only a browser on this machine gets
 * the token. No page of another origin can read the answer, because the answer has no CORS headers, and JSON cannot be
 * loaded as a script.
 */
export function registerDemoToken(app: FastifyInstance, token: string): void {
  app.get('/demo-token', (request, reply) =>
    reply
      .headers({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })
      .send({ token: directLocalOrigin(request) === null ? null : token }),
  )
}
