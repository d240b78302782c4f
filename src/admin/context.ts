import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Administrator } from '../domain/administrator.ts'
import type { Actor } from '../domain/audit.ts'
import { clientAddress } from '../http/caller.ts'
import type { View } from './components/layout.tsx'

declare module 'fastify' {
  interface Session {
    /** Who is signed in. */
    administrator?: Administrator
    /** A sentence that the next page shows once. */
    notice?: string
  }
  interface FastifyRequest {
    /** The origin under which the page is visited; the door sets it before anything else. */
    visitedOrigin: string
  }
}

/** Who is signed in; null: nobody. */
export const signedIn = (request: FastifyRequest): Administrator | null => request.session?.administrator ?? null

/** What a CSRF token is bound to: the session, or that there is none. */
export const csrfBinding = (request: FastifyRequest): string =>
  signedIn(request) ? request.session.sessionId : 'not signed in'

/** What a page shows of its visit. What was to be said is said with this. */
export function viewOf(request: FastifyRequest, reply: FastifyReply): View {
  const administrator = signedIn(request)
  const notice = request.session?.notice ?? null
  if (notice !== null) delete request.session.notice
  return { administrator, notice, csrfToken: reply.generateCsrf({ userInfo: csrfBinding(request) }) }
}

/** Who is signed in. Only for pages behind the sign-in. */
export function visitor(request: FastifyRequest): Administrator {
  const administrator = signedIn(request)
  if (!administrator) throw new Error('nobody is signed in')
  return administrator
}

/** Who acts: whoever is signed in. Only for pages behind the sign-in. */
export const actorOf = (request: FastifyRequest): Actor => ({
  name: visitor(request).email,
  address: clientAddress(request),
})

/** The form that was posted. */
export const formOf = (request: FastifyRequest): URLSearchParams =>
  request.body instanceof URLSearchParams ? request.body : new URLSearchParams()

/** Says something on the next page, once. */
export function say(request: FastifyRequest, notice: string): void {
  request.session.notice = notice
}

/** The origin under which people reach the service, as in `https://gateway.example.com`. */
export const originOf = (request: FastifyRequest): string => request.visitedOrigin
