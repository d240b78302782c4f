import cookie from '@fastify/cookie'
import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import type { Pool } from '../db/connect.ts'
import { notFound } from '../domain/errors.ts'
import { serveAssets } from '../http/assets.ts'
import { adminPath } from '../http/paths.ts'
import { registerAdministratorPages } from './administrators/routes.tsx'
import { registerAuditPages } from './audit/routes.tsx'
import { registerAccountPages } from './auth/account.tsx'
import { registerLoginPages, requireSignIn } from './auth/login.tsx'
import { createLoginThrottle } from './auth/login-throttle.ts'
import { registerOpenIdPages } from './auth/openid.ts'
import { registerSession } from './auth/session.ts'
import { registerSetupPages } from './auth/setup.tsx'
import { checkOrigin } from './check-origin.ts'
import { sendRefusalPage } from './error-page.tsx'
import { registerTokenPages } from './tokens/routes.ts'

/** What the pages work with. */
export interface AdminContext {
  sql: Pool
  config: Config
}

/** The longest form that is read, in bytes: one with 2,000 tenants fits. */
const bodyLimit = 64 * 1024

/** The API access page, under `/admin`: its headers, its sessions, and all its pages. */
export function registerAdmin(app: FastifyInstance, parts: AdminContext): void {
  const { sql, config } = parts
  const attempts = createLoginThrottle(sql)
  app.register(
    async scope => {
      scope.decorateRequest('visitedOrigin', '')
      scope.setErrorHandler(sendRefusalPage)
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser(
        'application/x-www-form-urlencoded',
        { parseAs: 'string', bodyLimit },
        (_request, body, done) => done(null, new URLSearchParams(String(body))),
      )
      await scope.register(helmet, headersOf(config))
      await scope.register(cookie)
      scope.addHook('onRequest', async request => checkOrigin(request, config))
      serveAssets(scope, new URL('./assets/', import.meta.url), ['admin.css', 'copy.js'])

      scope.register(async visit => {
        await registerSession(visit, sql, config)
        refuseUnknownPages(visit)
        registerLoginPages(visit, parts, attempts)
        registerSetupPages(visit, parts)
        if (config.openId) registerOpenIdPages(visit, sql, { config, openId: config.openId, attempts })

        visit.register(async inside => {
          inside.addHook('onRequest', requireSignIn)
          inside.get('/', (_request, reply) => reply.redirect(`${adminPath}/tokens`, 303))
          registerTokenPages(inside, parts)
          registerAuditPages(inside, parts)
          registerAdministratorPages(inside, parts)
          registerAccountPages(inside, parts, attempts)
        })
      })
    },
    { prefix: adminPath },
  )
}

/** Nothing but the service itself is loaded or written to, and no other page may show these. */
const headersOf = ({ publicUrl }: Config) => ({
  contentSecurityPolicy: {
    useDefaults: false,
    directives: {
      defaultSrc: ["'self'"],
      formAction: ["'self'"],
      frameAncestors: ["'none'"],
      baseUri: ["'none'"],
      objectSrc: ["'none'"],
    },
  },
  xFrameOptions: { action: 'deny' as const },
  // With `no-referrer` browsers would send forms with `Origin: null`.
  referrerPolicy: { policy: 'same-origin' as const },
  strictTransportSecurity: publicUrl?.startsWith('https:') ? { maxAge: 31_536_000, includeSubDomains: false } : false,
})

/** Before the body is read, as elsewhere (R8). */
function refuseUnknownPages(scope: FastifyInstance): void {
  const refuse = async () => {
    throw notFound('page')
  }
  scope.addHook('onRequest', async request => {
    if (request.is404) await refuse()
  })
  scope.setNotFoundHandler(refuse)
}
