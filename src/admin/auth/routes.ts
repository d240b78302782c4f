import type { FastifyInstance } from 'fastify'
import type { AdminContext } from '../context.ts'
import { changeOwnPassword, showAccount, signOutOfAllSessions } from './account.tsx'
import { logIn, logOut, showLogin } from './login.tsx'
import { registerOpenId } from './openid.ts'
import { requireSignIn } from './redirects.tsx'
import { setUp, showSetup } from './setup.tsx'

/** Registers the sign-in, the one-time links, and the account of the administrator who is signed in. */
export function registerAuth(scope: FastifyInstance, context: AdminContext): void {
  scope.get('/login', showLogin(context))
  scope.post('/login', logIn(context))
  scope.post('/logout', logOut(context))
  scope.get('/setup/:secret', showSetup(context))
  scope.post('/setup/:secret', setUp(context))
  if (context.config.openId) registerOpenId(scope, context, context.config.openId)

  scope.register(async signedIn => {
    signedIn.addHook('onRequest', requireSignIn)
    signedIn.get('/account', showAccount(context))
    signedIn.post('/account/password', changeOwnPassword(context))
    signedIn.post('/account/sign-out-everywhere', signOutOfAllSessions(context))
  })
}
