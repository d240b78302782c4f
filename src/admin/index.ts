import cookie from '@fastify/cookie'
import helmet from '@fastify/helmet'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'
import type { Pool } from '../db/connect.ts'
import { notFound } from '../domain/errors.ts'
import { serveAssets } from '../http/assets.ts'
import { adminPath } from '../http/paths.ts'
import type { Site } from '../http/site.ts'
import { createLoginThrottle } from './auth/login-throttle.ts'
import { registerSession } from './auth/session.ts'
import { checkOrigin } from './check-origin.ts'
import type { AdminContext } from './context.ts'
import { sendErrorPage } from './error-page.tsx'
import { registerPages } from './routes.ts'

/** The largest form that is read, in bytes: one with 2,000 tenants fits. */
const bodyLimit = 128 * 1024

interface RegisterOptions {
  sql: Pool
  config: Config
  site: Site
}

/** Registers the API access page under `/admin`: its headers, its sessions and all its pages. */
export function registerAdmin(app: FastifyInstance, { sql, config, site }: RegisterOptions): void {
  const context: AdminContext = { sql, config, site, throttle: createLoginThrottle(sql) }
  app.register(
    async scope => {
      scope.decorate('site', site)
      scope.decorateRequest('publicOrigin', '')
      scope.setErrorHandler(sendErrorPage)
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser(
        'application/x-www-form-urlencoded',
        { parseAs: 'string', bodyLimit },
        (_request, body, done) => done(null, new URLSearchParams(String(body))),
      )
      await scope.register(helmet, securityHeaders(config))
      await scope.register(cookie)
      scope.addHook('onRequest', async request => checkOrigin(request, config))
      const assets = ['admin.css', 'copy.js', 'open-dashboard.js', 'submit-once.js', 'tenant-picker.js']
      serveAssets(scope, new URL('./assets/', import.meta.url), assets)

      scope.register(async withSession => {
        await registerSession(withSession, context)
        rejectUnknownPages(withSession)
        registerPages(withSession, sql, context)
      })
    },
    { prefix: adminPath },
  )
}

/** Pages load and post only to the service itself, and no other page may frame them. */
const securityHeaders = ({ publicUrl }: Config) => ({
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
  // With `no-referrer` browsers send forms with `Origin: null`.
  referrerPolicy: { policy: 'same-origin' as const },
  strictTransportSecurity: publicUrl?.startsWith('https:') ? { maxAge: 31_536_000, includeSubDomains: false } : false,
})

/** Answers unknown paths before the body is read (R8). */
function rejectUnknownPages(scope: FastifyInstance): void {
  const reject = async () => {
    throw notFound('page')
  }
  scope.addHook('onRequest', async request => {
    if (request.is404) await reject()
  })
  scope.setNotFoundHandler(reject)
}
