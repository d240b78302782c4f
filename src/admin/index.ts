import cookie from '@fastify/cookie'
import type { FastifyInstance } from 'fastify'
import { describeUnusedProxy } from '#unused-proxy'
import type { Config } from '../config/config.ts'
import type { Pool } from '../db/sql.ts'
import { adminPath } from '../http/paths.ts'
import { registerNotFound } from '../http/unknown-paths.ts'
import type { Site } from '../pages/site.ts'
import type { Webhooks } from '../webhook/open-webhooks.ts'
import { sendTest } from '../webhook/send-test.ts'
import { createLoginThrottle } from './auth/login-throttle.ts'
import { registerSession } from './auth/session.ts'
import { checkOrigin } from './check-origin.ts'
import type { AdminContext } from './context.ts'
import { sendErrorPage } from './error-page.tsx'
import { registerPages } from './routes.ts'

/** The maximum size of a posted form, in bytes. A form with 2,000 tenants is smaller. */
const bodyLimit = 128 * 1024

/** Registers the API access page under `/admin`, with its headers, sessions and pages. */
export function registerAdmin(
  app: FastifyInstance,
  sql: Pool,
  config: Config,
  site: Site,
  { key, post }: Pick<Webhooks, 'key' | 'post'>,
): void {
  const webhooks: AdminContext['webhooks'] = { key, sendTest: (...args) => sendTest(sql, post, ...args) }
  const context: AdminContext = { sql, config, site, throttle: createLoginThrottle(sql), webhooks }
  const unusedProxy = config.openId && describeUnusedProxy()
  if (unusedProxy) app.log.info(`the OpenID provider is asked directly: ${unusedProxy}`)
  app.register(
    async scope => {
      scope.decorate('site', site)
      scope.decorateRequest('publicOrigin', '')
      scope.decorateRequest('fieldErrors', null)
      scope.setErrorHandler(sendErrorPage)
      scope.removeAllContentTypeParsers()
      scope.addContentTypeParser(
        'application/x-www-form-urlencoded',
        { parseAs: 'string', bodyLimit },
        (_request, body, done) => done(null, new URLSearchParams(String(body))),
      )
      const headers = securityHeaders(config)
      scope.addHook('onRequest', async (_request, reply) => void reply.headers(headers))
      await scope.register(cookie)
      scope.addHook('onRequest', async request => checkOrigin(request, config))
      scope.register(async withSession => {
        await registerSession(withSession, context)
        registerNotFound(withSession, 'page')
        registerPages(withSession, sql, context)
      })
    },
    { prefix: adminPath },
  )
}

/** Pages load files and post forms only from and to the service itself, and no other page may frame them. */
const securityHeaders = ({ publicUrl }: Config) => ({
  'Content-Security-Policy':
    "default-src 'self';form-action 'self';frame-ancestors 'none';base-uri 'none';object-src 'none'",
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  // With `no-referrer` browsers send forms with `Origin: null`.
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  ...(publicUrl?.startsWith('https:') && { 'Strict-Transport-Security': 'max-age=31536000' }),
})
