import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { getAdministrator } from '../../domain/administrator.ts'
import { changePassword, verifyCredentials } from '../../domain/administrator-password.ts'
import type { FieldErrors } from '../../domain/errors.ts'
import { passwordErrors } from '../../domain/password.ts'
import { listSessions, type SessionRecord, signOutEverywhere } from '../../domain/session.ts'
import { adminPath } from '../../http/paths.ts'
import { FaultSummary, Field } from '../components/field.tsx'
import { CsrfToken, Page, sendPage, type View } from '../components/layout.tsx'
import { Scroll } from '../components/scroll-region.tsx'
import { Moment } from '../components/timestamp.tsx'
import { actorOf, formOf, say, viewOf, visitor } from '../context.ts'
import type { AdminContext } from '../index.ts'
import { browserName } from './browser-name.ts'
import { leave } from './login.tsx'
import type { LoginThrottle } from './login-throttle.ts'
import { renewSession } from './session.ts'
import { HiddenEmail, PasswordFields } from './setup.tsx'

const accountPath = `${adminPath}/account`

/** One's own account: the password, and the sessions that are open. */
export function registerAccountPages(
  scope: FastifyInstance,
  { sql, config }: AdminContext,
  attempts: LoginThrottle,
): void {
  async function sendAccount(
    request: FastifyRequest,
    reply: FastifyReply,
    fieldErrors: FieldErrors = {},
  ): Promise<FastifyReply> {
    const { id } = visitor(request)
    const [{ hasPassword }, sessions] = await Promise.all([
      getAdministrator(sql, id),
      listSessions(sql, id, request.session.sessionId),
    ])
    const view = viewOf(request, reply)
    const page = <Account view={view} hasPassword={hasPassword} sessions={sessions} fieldErrors={fieldErrors} />
    return sendPage(reply, page, Object.keys(fieldErrors).length > 0 ? 422 : 200)
  }

  scope.get('/account', (request, reply) => sendAccount(request, reply))

  scope.post('/account/password', async (request, reply) => {
    const administrator = visitor(request)
    const form = formOf(request)
    const current = form.get('current') ?? ''
    const password = form.get('password') ?? ''
    const fieldErrors = passwordErrors(administrator.email, password, form.get('again') ?? '')
    if (current === '') fieldErrors.current = ['Give the password that you have now.']
    if (Object.keys(fieldErrors).length > 0) return sendAccount(request, reply, fieldErrors)

    const actor = actorOf(request)
    const changed = await attempts.confirm(administrator.id, actor, async () => {
      const verified = await verifyCredentials(sql, administrator.email, current)
      if (!verified) return null
      const renewed = await renewSession(request, verified, session =>
        changePassword(sql, actor, verified, session, password),
      )
      return renewed || null
    })
    if (!changed) return sendAccount(request, reply, { current: ['This is not the password that you have now.'] })
    say(request, 'Your password is changed. All other sessions have ended.')
    return reply.redirect(accountPath, 303)
  })

  scope.post('/account/sign-out-everywhere', async (request, reply) => {
    await signOutEverywhere(sql, actorOf(request), visitor(request).id)
    return leave(request, reply, config, 'everywhere')
  })
}

interface AccountProps {
  view: View
  hasPassword: boolean
  sessions: SessionRecord[]
  fieldErrors: FieldErrors
}

function Account({ view, hasPassword, sessions, fieldErrors }: AccountProps) {
  return (
    <Page title="Your account" view={view} place="account" narrow>
      <FaultSummary fieldErrors={fieldErrors} />
      <h2>Open sessions</h2>
      <p class="hint">A session ends after an hour without use, and 12 hours after the sign-in.</p>
      <Scroll label="Open sessions">
        <table class="cards" aria-label="Open sessions">
          <thead>
            <tr>
              <th scope="col">Browser</th>
              <th scope="col">Address</th>
              <th scope="col">Since</th>
              <th scope="col">Last seen</th>
            </tr>
          </thead>
          <tbody>
            {sessions.map(session => (
              <tr key={session.createdAt}>
                <th scope="row">
                  {browserName(session.userAgent)} {session.current && <span class="badge active">this one</span>}
                </th>
                <td data-label="Address">{session.address}</td>
                <td data-label="Since">
                  <Moment at={session.createdAt} />
                </td>
                <td data-label="Last seen">
                  <Moment at={session.usedAt} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
      <form method="post" action={`${accountPath}/sign-out-everywhere`} class="card">
        <p>Is there one that is not yours, or left open elsewhere? This ends all of them, this one too.</p>
        <CsrfToken view={view} />
        <button type="submit" class="plain">
          Sign out everywhere
        </button>
      </form>
      <h2>Password</h2>
      {hasPassword ? (
        <form method="post" action={`${accountPath}/password`} class="card">
          <CsrfToken view={view} />
          <HiddenEmail email={view.administrator?.email ?? ''} />
          <Field
            name="current"
            label="The password that you have now"
            type="password"
            fieldErrors={fieldErrors}
            required
            autocomplete="current-password"
          />
          <PasswordFields fieldErrors={fieldErrors} />
          <button type="submit">Change the password</button>
        </form>
      ) : (
        <p>You sign in with your organisation, and have no password here.</p>
      )}
    </Page>
  )
}
