// The paths of all pages, below `/admin`.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from '../db/connect.ts'
import { waitsFor } from '../http/caller.ts'
import { adminPath } from '../http/paths.ts'
import { invite, showAdministrators, withdraw } from './administrators/list.tsx'
import { remove, showRemove } from './administrators/remove.tsx'
import { sendCsv, showAudit } from './audit/list.tsx'
import { changeOwnPassword, showAccount, signOutOfAllSessions } from './auth/account.tsx'
import { logInToDemo } from './auth/demo.tsx'
import { logIn, logOut, showLogin, signOutFromPage } from './auth/login.tsx'
import { createOpenIdHandlers } from './auth/openid.ts'
import { requireSignIn } from './auth/redirects.tsx'
import { setUp, showSetup } from './auth/setup.tsx'
import type { AdminContext, Handler } from './context.ts'
import { open, showOpen } from './dashboard/open.tsx'
import { showLevel, showLists } from './tenant-picker/fragments.tsx'
import { create, showCreate } from './tokens/create.tsx'
import { showToken } from './tokens/detail.tsx'
import { edit, showEdit } from './tokens/edit.tsx'
import { showTokens } from './tokens/list.tsx'
import { revoke, showRevoke } from './tokens/revoke.tsx'
import { rotate, showRotate } from './tokens/rotate.tsx'

/** Registers the sign-in pages, and the pages that need a session. */
export function registerPages(scope: FastifyInstance, pool: Pool, context: AdminContext): void {
  const { config, site } = context
  const bind =
    <Params>(handler: Handler<Params>) =>
    (request: FastifyRequest<{ Params: Params }>, reply: FastifyReply) =>
      handler({ ...context, sql: pool.whileWanted(waitsFor(reply)) }, request, reply)

  scope.get('/login', bind(showLogin))
  scope.post('/login', bind(logIn))
  scope.post('/logout', bind(logOut))
  scope.delete('/session', bind(signOutFromPage))
  if (site.isDemo) scope.post('/login/demo', bind(logInToDemo))
  scope.get('/setup/:secret', bind(showSetup))
  scope.post('/setup/:secret', bind(setUp))
  if (config.openId) {
    const openId = createOpenIdHandlers(context, config.openId)
    scope.get('/login/openid', openId.start)
    scope.get('/login/callback', openId.finish)
  }

  scope.register(async signedIn => {
    signedIn.addHook('onRequest', requireSignIn)
    signedIn.get('/', (_request, reply) => reply.redirect(`${adminPath}/tokens`, 303))
    signedIn.get('/account', bind(showAccount))
    signedIn.post('/account/password', bind(changeOwnPassword))
    signedIn.post('/account/sign-out-everywhere', bind(signOutOfAllSessions))

    signedIn.get('/tokens', bind(showTokens))
    signedIn.get('/tokens/new', bind(showCreate))
    signedIn.post('/tokens/new', bind(create))
    signedIn.get('/tokens/:id', bind(showToken))
    signedIn.get('/tokens/:id/edit', bind(showEdit))
    signedIn.post('/tokens/:id/edit', bind(edit))
    signedIn.get('/tokens/:id/rotate', bind(showRotate))
    signedIn.post('/tokens/:id/rotate', bind(rotate))
    signedIn.get('/tokens/:id/revoke', bind(showRevoke))
    signedIn.post('/tokens/:id/revoke', bind(revoke))

    signedIn.get('/tenants', bind(showLevel))
    signedIn.post('/tenants', bind(showLists))

    signedIn.get('/dashboard', bind(showOpen))
    signedIn.post('/dashboard', bind(open))

    signedIn.get('/audit', bind(showAudit))
    signedIn.get('/audit.csv', { exposeHeadRoute: false }, bind(sendCsv))

    signedIn.get('/administrators', bind(showAdministrators))
    signedIn.post('/administrators', bind(invite))
    signedIn.post('/administrators/withdraw', bind(withdraw))
    signedIn.get('/administrators/:id/remove', bind(showRemove))
    signedIn.post('/administrators/:id/remove', bind(remove))
  })
}
