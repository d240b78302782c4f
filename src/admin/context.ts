import type { FastifyReply, FastifyRequest } from 'fastify'
import { h, type VNode } from 'preact'
import { renderToString } from 'preact-render-to-string'
import type { Config } from '../config.ts'
import type { Pool } from '../db/connect.ts'
import type { Administrator } from '../domain/administrator.ts'
import type { Actor } from '../domain/audit.ts'
import { clientAddress } from '../http/caller.ts'
import type { LoginThrottle } from './auth/login-throttle.ts'
import { RequestContext } from './components/layout.tsx'

/** The parts of the service that the pages use. */
export interface AdminContext {
  sql: Pool
  config: Config
  throttle: LoginThrottle
}

/** A request with the id of a record in its path. */
export type RequestById = FastifyRequest<{ Params: { id: string } }>

declare module 'fastify' {
  interface Session {
    /** The administrator who is signed in. */
    administrator?: Administrator
    /** A message that the next page shows once. */
    flash?: string
  }
  interface FastifyRequest {
    /** The origin under which the browser reaches the service, as in `https://gateway.example.com` (`checkOrigin`). */
    publicOrigin: string
  }
}

/** @returns the administrator who is signed in, or null */
export const findSignedIn = (request: FastifyRequest): Administrator | null => request.session?.administrator ?? null

/** @returns the administrator who is signed in. Only for pages behind `requireSignIn`. */
export function getSignedIn(request: FastifyRequest): Administrator {
  const administrator = findSignedIn(request)
  if (!administrator) throw new Error('The request has no signed-in administrator.')
  return administrator
}

/** @returns the signed-in administrator as the actor of an audit entry. Only for pages behind `requireSignIn`. */
export const actorOf = (request: FastifyRequest): Actor => ({
  name: getSignedIn(request).email,
  address: clientAddress(request),
})

/** @returns what CSRF tokens are bound to: the session, or the fact that there is none */
export const csrfBinding = (request: FastifyRequest): string =>
  findSignedIn(request) ? request.session.sessionId : 'not signed in'

/** Redirects to a page that shows the message once. */
export function redirectWithFlash(request: FastifyRequest, reply: FastifyReply, path: string, message: string) {
  request.session.flash = message
  return reply.redirect(path, 303)
}

/**
 * Answers with a page, and deletes the flash message that it shows from the session.
 *
 * @param status the HTTP status
 */
export function sendPage(request: FastifyRequest, reply: FastifyReply, page: VNode, status = 200): FastifyReply {
  const flash = request.session?.flash ?? null
  if (flash !== null) delete request.session.flash
  let token: string | undefined
  const value = {
    administrator: findSignedIn(request),
    flash,
    // Made once for all forms: without a cookie yet, a second token would replace the secret of the first.
    csrfToken() {
      token ??= reply.generateCsrf({ userInfo: csrfBinding(request) })
      return token
    },
  }
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .send(`<!doctype html>${renderToString(h(RequestContext.Provider, { value }, page))}`)
}
