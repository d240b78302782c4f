import { randomBytes } from 'node:crypto'
import csrfProtection from '@fastify/csrf-protection'
import session from '@fastify/session'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../config.ts'
import type { Pool } from '../db/connect.ts'
import type { Administrator } from '../domain/administrator.ts'
import { dropSession, findSession, type NewSession, saveSession, startSession } from '../domain/session.ts'
import { keepSecret } from '../domain/setting.ts'
import { addressOf } from '../http/caller.ts'
import { cookieKind } from './cookies.ts'
import { csrfBinding, formOf, signedIn } from './visit.ts'

/** The cookie that carries the session. */
export const sessionCookie = (config: Config) => cookieKind(config, 'session', 'strict')

/**
 * Gives each visit its session, which is a row only for who is signed in, and each form that is posted its CSRF check.
 */
export async function registerSession(scope: FastifyInstance, sql: Pool, config: Config): Promise<void> {
  const key = await keepSecret(sql, 'session_key', randomBytes(32))
  const { name, options } = sessionCookie(config)

  // Before the library would: it leaves a session unsaved when TLS ends at a proxy that it does not know of.
  scope.addHook('onSend', async request => {
    if (signedIn(request) && request.session.isModified()) await request.session.save()
  })
  await scope.register(session, {
    secret: key.toString('hex'),
    cookieName: name,
    cookie: options,
    idGenerator: () => randomBytes(32).toString('base64url'),
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
        dropSession(sql, id).then(() => done(), done)
      },
    },
  })

  // Not strict: a link on another site would else come without it, and have it replaced under the forms that are open.
  const csrfCookie = cookieKind(config, 'csrf', 'lax')
  await scope.register(csrfProtection, {
    cookieKey: csrfCookie.name,
    cookieOpts: csrfCookie.options,
    csrfOpts: { hmacKey: key.toString('hex'), userInfo: true },
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

/** A session of this visit under a new id; what had the old one is signed out. The caller makes it a row. */
export async function renewSession(request: FastifyRequest, administrator: Administrator): Promise<NewSession> {
  await request.session.regenerate()
  request.session.administrator = administrator
  return {
    id: request.session.sessionId,
    administratorId: administrator.id,
    userAgent: request.headers['user-agent'] ?? null,
  }
}

/** Signs somebody in, under a session id that nobody has seen before. */
export async function signIn(
  sql: Pool,
  request: FastifyRequest,
  administrator: Administrator,
  means: 'password' | 'link' | 'openid',
): Promise<void> {
  const started = await renewSession(request, administrator)
  await startSession(sql, { name: administrator.email, address: addressOf(request) }, started, means)
}
