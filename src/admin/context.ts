import type { FastifyReply, FastifyRequest } from 'fastify'
import { h, type VNode } from 'preact'
import type { Config } from '../config/config.ts'
import type { Sql } from '../db/sql.ts'
import type { Administrator } from '../domain/administrator/administrator.ts'
import type { Actor } from '../domain/administrator/audit.ts'
import type { FieldErrors } from '../domain/errors.ts'
import type { Endpoint } from '../domain/event/endpoint.ts'
import { clientAddress } from '../http/client-address.ts'
import { sendHtml } from '../pages/html-page.tsx'
import type { Site } from '../pages/site.ts'
import type { Answer } from '../webhook/post.ts'
import type { LoginThrottle } from './auth/login-throttle.ts'
import { RequestContext } from './components/layout.tsx'
import { findForm } from './form-body.ts'

export interface AdminContext {
  /** Sends statements as long as the browser waits for the answer. */
  sql: Sql
  config: Config
  site: Site
  throttle: LoginThrottle
  webhooks: {
    /** The key from which the secrets of endpoints are derived. */
    key: Buffer
    /** Sends a test event, and records its outcome even when the browser has disconnected. */
    sendTest: (actor: Actor, endpoint: Endpoint) => Promise<Answer>
  }
}

export type Handler<Params = unknown> = (
  context: AdminContext,
  request: FastifyRequest<{ Params: Params }>,
  reply: FastifyReply,
) => Promise<FastifyReply>

export type HandlerById = Handler<{ id: string }>

declare module 'fastify' {
  interface Session {
    administrator?: Administrator
    flash?: string
  }
  interface FastifyInstance {
    /** The settings that the header of each page depends on. */
    site: Site
  }
  interface FastifyRequest {
    /** The origin that the browser uses, such as `https://gateway.example.com` (`checkOrigin`). */
    publicOrigin: string
    /** The errors of the posted form, which the page of the form shows; null without errors. */
    fieldErrors: FieldErrors | null
  }
}

/** Returns the administrator who is signed in, or null. */
export const findSignedIn = (request: FastifyRequest): Administrator | null => request.session?.administrator ?? null

/** Returns the administrator who is signed in. Only for pages behind `requireSignIn`. */
export function getSignedIn(request: FastifyRequest): Administrator {
  const administrator = findSignedIn(request)
  if (!administrator) throw new Error('The request has no signed-in administrator.')
  return administrator
}

/** Returns the signed-in administrator as the actor of an audit entry. Only for pages behind `requireSignIn`. */
export const actorOf = (request: FastifyRequest): Actor => ({
  name: getSignedIn(request).email,
  address: clientAddress(request),
})

/** Returns the value that CSRF tokens are bound to: the session's, or a fixed value without a session. */
export const csrfBinding = (request: FastifyRequest): string =>
  findSignedIn(request) ? request.session.sessionId : 'not signed in'

/** Redirects to a page that shows the message once. */
export function redirectWithFlash(reply: FastifyReply, path: string, message: string): FastifyReply {
  reply.request.session.flash = message
  return reply.redirect(path, 303)
}

/** Answers with a page, and deletes the flash message that it shows from the session. */
export function sendPage(reply: FastifyReply, page: VNode): FastifyReply {
  const { request } = reply
  const flash = request.session?.flash ?? null
  if (flash !== null) delete request.session.flash
  let token: string | undefined
  const value = {
    site: reply.server.site,
    administrator: findSignedIn(request),
    flash,
    posted: findForm(request),
    fieldErrors: request.fieldErrors ?? {},
    // All forms of a page share one CSRF token. Without a cookie yet, a second token would replace the secret of the
    // first token.
    csrfToken() {
      token ??= reply.generateCsrf({ userInfo: csrfBinding(request) })
      return token
    },
  }
  return sendHtml(reply, h(RequestContext.Provider, { value }, page))
}
