import { hkdfSync, randomBytes } from 'node:crypto'
import csrfProtection from '@fastify/csrf-protection'
import session from '@fastify/session'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import type { Pool } from '../../db/connect.ts'
import type { Administrator } from '../../domain/administrator.ts'
import {
  deleteSession,
  findSession,
  type NewSession,
  saveSession,
  startSession,
  type VerifiedAdministrator,
} from '../../domain/session.ts'
import { getOrCreateSecret } from '../../domain/setting.ts'
import { clientAddress } from '../../http/caller.ts'
import { csrfBinding, formOf, signedIn } from '../context.ts'
import { cookieKind } from './cookies.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The session that takes the place of this visit's. */
    renewedSessionId: string | null
  }
}

/** The cookie that carries the session. */
export const sessionCookie = (config: Config) => cookieKind(config, 'session', 'strict')

/**
 * Gives each visit its session, which is a row only for who is signed in, and each form that is posted its CSRF check.
 */
export async function registerSession(scope: FastifyInstance, sql: Pool, config: Config): Promise<void> {
  const key = await getOrCreateSecret(sql, 'session_key', randomBytes(32))
  const keyFor = (purpose: string) => Buffer.from(hkdfSync('sha256', key, '', purpose, 32)).toString('hex')
  const { name, options } = sessionCookie(config)
  scope.decorateRequest('renewedSessionId', null)

  // Before the library would: it leaves a session unsaved when TLS ends at a proxy that it does not know of.
  scope.addHook('onSend', async request => {
    if (signedIn(request) && request.session.isModified()) await request.session.save()
  })
  await scope.register(session, {
    secret: keyFor('session cookie'),
    cookieName: name,
    cookie: options,
    idGenerator: request => request?.renewedSessionId ?? createSessionId(),
    saveUninitialized: false,
    rolling: false,
    store: {
      get(id, done) {
        findSession(sql, id).then(
          found => done(null, found && { ...found.data, administrator: found.administrator, cookie: noAge }),
          done,
        )
      },
      // A row is there from the sign-in on, or never.
      set(id, { notice }, done) {
        saveSession(sql, id, notice === undefined ? {} : { notice }).then(() => done(), done)
      },
      destroy(id, done) {
        deleteSession(sql, id).then(() => done(), done)
      },
    },
  })

  // Not strict: a link on another site would else come without it, and have it replaced under the forms that are open.
  const csrfCookie = cookieKind(config, 'csrf', 'lax')
  await scope.register(csrfProtection, {
    cookieKey: csrfCookie.name,
    cookieOpts: csrfCookie.options,
    csrfOpts: { hmacKey: keyFor('CSRF token'), userInfo: true },
    getUserInfo: csrfBinding,
    getToken: request => formOf(request).get('_csrf') ?? undefined,
  })
  scope.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'POST') scope.csrfProtection(request, reply, done)
    else done()
  })
}

/** The database ends a session, not the browser. */
const noAge = { originalMaxAge: null }

const createSessionId = () => randomBytes(32).toString('base64url')

/**
 * Gives this visit a session under an id that nobody has seen before. Whatever had the one before is signed out, but
 * not before the new one has begun.
 *
 * @param begin makes the session a row; false: it may not begin
 * @returns what `begin` does
 */
export async function renewSession(
  request: FastifyRequest,
  { id, email }: Administrator,
  begin: (session: NewSession) => Promise<boolean>,
): Promise<boolean> {
  const sessionId = createSessionId()
  if (!(await begin({ id: sessionId, userAgent: request.headers['user-agent'] ?? null }))) return false
  request.renewedSessionId = sessionId
  await request.session.regenerate()
  request.session.administrator = { id, email }
  return true
}

/**
 * Signs somebody in.
 *
 * @returns whether it came to that: not when the account was removed or given another password since he showed who he is
 */
export function signIn(
  sql: Pool,
  request: FastifyRequest,
  verified: VerifiedAdministrator,
  means: 'password' | 'link' | 'openid',
): Promise<boolean> {
  const actor = { name: verified.email, address: clientAddress(request) }
  return renewSession(request, verified, session => startSession(sql, actor, verified, session, means))
}
