import { hkdfSync, randomBytes } from 'node:crypto'
import csrfProtection from '@fastify/csrf-protection'
import session from '@fastify/session'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../config/config.ts'
import type { Sql } from '../../db/sql.ts'
import type { Administrator } from '../../domain/administrator/administrator.ts'
import {
  deleteSession,
  findSession,
  type NewSession,
  type SignInMeans,
  saveSession,
  startSession,
  type VerifiedAdministrator,
} from '../../domain/administrator/session.ts'
import { getOrCreateSecret } from '../../domain/secret/setting.ts'
import { clientAddress } from '../../http/client-address.ts'
import { type AdminContext, csrfBinding, findSignedIn } from '../context.ts'
import { formBody } from '../form-body.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The id of the new session that replaces the session of this request; null when it is not replaced. */
    renewedSessionId: string | null
  }
}

/**
 * Gives each request its session, and checks the CSRF token of each form. Only sessions of signed-in administrators are
 * stored in the database.
 */
export async function registerSession(scope: FastifyInstance, { sql, config }: AdminContext): Promise<void> {
  const key = await getOrCreateSecret(sql, 'session_key', randomBytes(32))
  const keyFor = (purpose: string) => Buffer.from(hkdfSync('sha256', key, '', purpose, 32)).toString('hex')
  const { name, options } = sessionCookie(config)
  scope.decorateRequest('renewedSessionId', null)

  // The hook saves the session, because the library does not save a session when TLS ends at a proxy that Fastify does
  // not trust.
  scope.addHook('onSend', async request => {
    if (findSignedIn(request) && request.session.isModified()) await request.session.save()
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
          found => done(null, found && { ...found.data, administrator: found.administrator, cookie: noMaxAge }),
          done,
        )
      },
      // Only updates the row of the session, because `startSession` has inserted the row.
      set(id, { flash }, done) {
        saveSession(sql, id, flash === undefined ? {} : { flash }).then(() => done(), done)
      },
      destroy(id, done) {
        deleteSession(sql, id).then(() => done(), done)
      },
    },
  })

  // The cookie is `lax`: with `strict`, a request from a link on another site would have no cookie, and would get a new
  // cookie that does not match open forms.
  const csrfCookie = cookieSettings(config, 'csrf', 'lax')
  await scope.register(csrfProtection, {
    cookieKey: csrfCookie.name,
    cookieOpts: csrfCookie.options,
    csrfOpts: { hmacKey: keyFor('CSRF token'), userInfo: true },
    getUserInfo: csrfBinding,
    getToken: request => formBody(request).get('_csrf') ?? undefined,
  })
  scope.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'POST') scope.csrfProtection(request, reply, done)
    else done()
  })
}

/** The cookie has no maximum age, because the database decides when a session ends. */
const noMaxAge = { originalMaxAge: null }

const createSessionId = () => randomBytes(32).toString('base64url')

/**
 * Gives the session of the request a new id, which prevents session fixation. Deletes the old session after the new
 * session has started.
 *
 * @param start inserts the new session; returns false when it may not start
 */
export async function renewSession(
  request: FastifyRequest,
  { id, email }: Administrator,
  start: (session: NewSession) => Promise<boolean>,
): Promise<boolean> {
  const sessionId = createSessionId()
  if (!(await start({ id: sessionId, userAgent: request.headers['user-agent'] ?? null }))) return false
  request.renewedSessionId = sessionId
  await request.session.regenerate()
  request.session.administrator = { id, email }
  return true
}

/**
 * Signs an administrator in.
 *
 * @returns false when the account was removed, or its password changed, since the verification
 */
export function signIn(
  sql: Sql,
  request: FastifyRequest,
  verified: VerifiedAdministrator,
  means: SignInMeans,
): Promise<boolean> {
  const actor = { name: verified.email, address: clientAddress(request) }
  return renewSession(request, verified, session => startSession(sql, actor, verified, session, means))
}

/**
 * Returns the name and the options of a cookie. Over https the name begins with `__Host-`, so that no other host and no
 * plain http can set the cookie (RFC 6265bis, 4.1.3.2). Over plain http, all services on a machine share their cookies,
 * because a cookie does not depend on the port: the prefix `vgw-` keeps our names apart.
 *
 * @param sameSite `strict`: no request from another site has the cookie; `lax`: only a link from another site has it
 */
export function cookieSettings({ publicUrl }: Config, name: string, sameSite: 'strict' | 'lax') {
  const secure = publicUrl?.startsWith('https:') ?? false
  return {
    name: secure ? `__Host-${name}` : `vgw-${name}`,
    options: { path: '/', httpOnly: true, secure, sameSite },
  }
}

/** Returns the settings of the session cookie. */
export const sessionCookie = (config: Config) => cookieSettings(config, 'session', 'strict')
