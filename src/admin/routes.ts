// Connects all paths below `/admin` with the handlers of their pages.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from '../db/sql.ts'
import { GatewayError } from '../domain/errors.ts'
import { createIsWaiting } from '../http/caller.ts'
import { statusOf } from '../http/errors.ts'
import { adminPath } from '../http/paths.ts'
import { invite, remove, showAdministrators, showRemove, withdraw } from './administrators/list.tsx'
import { sendCsv, showAudit } from './audit/list.tsx'
import { changeOwnPassword, showAccount, signOutOfAllSessions } from './auth/account.tsx'
import { logInToDemo } from './auth/demo.tsx'
import { logIn, logOut, showLogin, signOutFromPage } from './auth/login.tsx'
import { createOpenIdHandlers } from './auth/openid.ts'
import { requireSignIn } from './auth/redirects.tsx'
import { setUp, showSetup } from './auth/setup.tsx'
import type { AdminContext, Handler } from './context.ts'
import { openDashboard, showOpenDashboard } from './dashboard/open.tsx'
import { showLists } from './tenant-picker/lists.tsx'
import { showToken } from './tokens/detail.tsx'
import { create, edit, showCreate, showEdit } from './tokens/form.tsx'
import { showTokens } from './tokens/list.tsx'
import { revoke, showRevoke } from './tokens/revoke.tsx'
import { rotate, showRotate } from './tokens/rotate.tsx'
import { createWebhook, showCreateWebhook } from './webhooks/create.tsx'
import {
  deleteWebhook,
  pauseWebhook,
  replayWebhook,
  resumeWebhook,
  rotateWebhookSecret,
  showDeleteWebhook,
  showWebhook,
  testWebhook,
} from './webhooks/detail.tsx'

/** Registers the sign-in pages, and the pages that need a session. */
export function registerPages(scope: FastifyInstance, pool: Pool, context: AdminContext): void {
  const { config, site } = context
  const bind =
    <Params>(handler: Handler<Params>) =>
    (request: FastifyRequest<{ Params: Params }>, reply: FastifyReply) =>
      handler({ ...context, sql: pool.whileWanted(createIsWaiting(reply)) }, request, reply)

  /**
   * Adds the action of a form. When the input has errors, the page shows the errors and the values that the person
   * entered.
   */
  const addAction = <Params>(routes: FastifyInstance, action: string, show: Handler<Params>, post: Handler<Params>) => {
    const postOrShow: Handler<Params> = async (context, request, reply) => {
      try {
        return await post(context, request, reply)
      } catch (error) {
        if (!(error instanceof GatewayError && error.fieldErrors)) throw error
        request.fieldErrors = error.fieldErrors
        return show(context, request, reply.code(statusOf.BAD_USER_INPUT))
      }
    }
    routes.post(action, bind(postOrShow))
  }

  const addForm = <Params>(
    routes: FastifyInstance,
    path: string,
    show: Handler<Params>,
    post: Handler<Params>,
    action = path,
  ) => {
    routes.get(path, bind(show))
    addAction(routes, action, show, post)
  }

  addForm(scope, '/login', showLogin, logIn)
  scope.post('/logout', bind(logOut))
  scope.delete('/session', bind(signOutFromPage))
  if (site.isDemo) scope.post('/login/demo', bind(logInToDemo))
  addForm(scope, '/setup/:secret', showSetup, setUp)
  if (config.openId) {
    const openId = createOpenIdHandlers(context, config.openId)
    scope.get('/login/openid', openId.start)
    scope.get('/login/callback', openId.finish)
  }

  scope.register(async signedIn => {
    signedIn.addHook('onRequest', requireSignIn)
    signedIn.get('/', (_request, reply) => reply.redirect(`${adminPath}/tokens`, 303))
    addForm(signedIn, '/account', showAccount, changeOwnPassword, '/account/password')
    signedIn.post('/account/sign-out-everywhere', bind(signOutOfAllSessions))

    signedIn.get('/tokens', bind(showTokens))
    addForm(signedIn, '/tokens/new', showCreate, create)
    signedIn.get('/tokens/:id', bind(showToken))
    addForm(signedIn, '/tokens/:id/edit', showEdit, edit)
    addForm(signedIn, '/tokens/:id/rotate', showRotate, rotate)
    addForm(signedIn, '/tokens/:id/revoke', showRevoke, revoke)

    addForm(signedIn, '/tokens/:id/webhooks', showCreateWebhook, createWebhook)
    signedIn.get('/webhooks/:id', bind(showWebhook))
    addAction(signedIn, '/webhooks/:id/test', showWebhook, testWebhook)
    signedIn.post('/webhooks/:id/pause', bind(pauseWebhook))
    signedIn.post('/webhooks/:id/resume', bind(resumeWebhook))
    addAction(signedIn, '/webhooks/:id/replay', showWebhook, replayWebhook)
    addAction(signedIn, '/webhooks/:id/rotate', showWebhook, rotateWebhookSecret)
    addForm(signedIn, '/webhooks/:id/delete', showDeleteWebhook, deleteWebhook)

    signedIn.post('/tenants', bind(showLists))

    addForm(signedIn, '/dashboard', showOpenDashboard, openDashboard)

    signedIn.get('/audit', bind(showAudit))
    signedIn.get('/audit.csv', { exposeHeadRoute: false }, bind(sendCsv))

    addForm(signedIn, '/administrators', showAdministrators, invite)
    signedIn.post('/administrators/withdraw', bind(withdraw))
    addForm(signedIn, '/administrators/:id/remove', showRemove, remove)
  })
}
