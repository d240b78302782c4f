import { hasNoAdministrator, parseEmail } from '../../domain/administrator/administrator.ts'
import { verifyCredentials } from '../../domain/administrator/administrator-password.ts'
import { signOut } from '../../domain/administrator/session.ts'
import { badInput } from '../../domain/errors.ts'
import { clientAddress } from '../../http/client-address.ts'
import { EmailField, ErrorSummary, PasswordField } from '../components/field.tsx'
import { ButtonLink, Layout, PostForm } from '../components/layout.tsx'
import { actorOf, findSignedIn, type Handler, sendPage } from '../context.ts'
import { findForm, formBody, queryParameters, textField } from '../form-body.ts'
import { DemoSignIn } from './demo.tsx'
import {
  deleteBrowserSession,
  endSession,
  loginMessages,
  loginPath,
  parseNext,
  redirectSignedOut,
} from './redirects.tsx'
import { signIn } from './session.ts'
import { NoAdministratorYet } from './setup.tsx'

/** GET /admin/login */
export const showLogin: Handler = async ({ sql, config, site }, request, reply) => {
  const query = queryParameters(request)
  const form = findForm(request)
  const next = parseNext((form ?? query).get('next'))
  if (!form && findSignedIn(request)) return reply.redirect(next, 303)
  const message = Object.entries(loginMessages).find(([reason]) => reason === query.get('because'))?.[1]
  const noAdministrator = await hasNoAdministrator(sql)
  const openId = config.openId !== undefined
  return sendPage(
    reply,
    <Layout title="Sign in" narrow>
      {message && (
        <p class={message.kind} role="status">
          {message.text}
        </p>
      )}
      {site.isDemo && <DemoSignIn next={next} />}
      {noAdministrator && !site.isDemo && <NoAdministratorYet openId={openId} />}
      <ErrorSummary />
      <PostForm action={loginPath} class="card">
        <input type="hidden" name="next" value={next} />
        <EmailField autocomplete="username" />
        <PasswordField name="password" label="Password" autocomplete="current-password" />
        <button type="submit">Sign in</button>
      </PostForm>
      {openId && (
        <p>
          <ButtonLink
            href={`${loginPath}/openid?next=${encodeURIComponent(next)}`}
            label="Sign in with your organisation"
          />
        </p>
      )}
    </Layout>,
  )
}

/** POST /admin/login */
export const logIn: Handler = async ({ sql, throttle }, request, reply) => {
  const form = formBody(request)
  const entered = textField(form, 'email')
  const password = form.get('password') ?? ''
  if (entered === '') throw badInput({ email: ['Give your e-mail.'] })
  if (password === '') throw badInput({ password: ['Give your password.'] })

  // When the text is not an e-mail, it is not recorded, because a person may have entered the password in the wrong
  // field.
  const email = parseEmail(entered)
  const actor = { name: email ?? 'no e-mail', address: clientAddress(request) }
  const signedIn = await throttle.signIn(actor, async () => {
    const verified = await verifyCredentials(sql, email ?? '', password)
    return verified && (await signIn(sql, request, verified, 'password')) ? verified : null
  })
  if (!signedIn) throw badInput({ email: ['The e-mail or the password is wrong.'] })
  return reply.redirect(parseNext(form.get('next')), 303)
}

/** POST /admin/logout */
export const logOut: Handler = async ({ sql, config }, request, reply) => {
  if (!findSignedIn(request)) return redirectSignedOut(reply)
  await signOut(sql, actorOf(request), request.session.sessionId)
  return endSession(reply, config, 'out')
}

/**
 * DELETE /admin/session: signs out. The pages of the service outside of `/admin` call it. The request needs no CSRF
 * token, because `checkOrigin` has compared the origin, and browsers send DELETE to another origin only after that
 * origin has allowed it.
 */
export const signOutFromPage: Handler = async ({ sql, config }, request, reply) => {
  if (findSignedIn(request)) {
    await signOut(sql, actorOf(request), request.session.sessionId)
    await deleteBrowserSession(reply, config)
  }
  return reply.code(204).send()
}
