// The page on which the signed-in administrator changes the password and ends open sessions.

import { getAdministrator } from '../../domain/administrator/administrator.ts'
import { changePassword, verifyCredentials } from '../../domain/administrator/administrator-password.ts'
import { passwordErrors } from '../../domain/administrator/password.ts'
import { listSessions, type SessionRecord, signOutEverywhere } from '../../domain/administrator/session.ts'
import { badInput, throwIfErrors } from '../../domain/errors.ts'
import { adminPath } from '../../http/paths.ts'
import { ErrorSummary, HiddenEmail, NewPasswordFields, PasswordField } from '../components/field.tsx'
import { Timestamp } from '../components/format.tsx'
import { Layout, PostForm } from '../components/layout.tsx'
import { type Column, Table } from '../components/table.tsx'
import { actorOf, getSignedIn, type Handler, redirectWithFlash, sendPage } from '../context.ts'
import { formBody } from '../form-body.ts'
import { endSession } from './redirects.tsx'
import { renewSession } from './session.ts'

const accountPath = `${adminPath}/account`

/** POST /admin/account/password */
export const changeOwnPassword: Handler = async ({ sql, throttle }, request, reply) => {
  const administrator = getSignedIn(request)
  const form = formBody(request)
  const current = form.get('current') ?? ''
  const password = form.get('password') ?? ''
  const fieldErrors = passwordErrors(administrator.email, password, form.get('again') ?? '')
  if (current === '') fieldErrors.current = ['Give your current password.']
  throwIfErrors(fieldErrors)

  const actor = actorOf(request)
  const changed = await throttle.confirm(administrator.id, actor, async () => {
    const verified = await verifyCredentials(sql, administrator.email, current)
    if (!verified) return null
    const renewed = await renewSession(request, verified, session =>
      changePassword(sql, actor, verified, session, password),
    )
    return renewed || null
  })
  if (!changed) throw badInput({ current: ['This is not your current password.'] })
  return redirectWithFlash(reply, accountPath, 'Your password is changed. All other sessions have ended.')
}

/** POST /admin/account/sign-out-everywhere */
export const signOutOfAllSessions: Handler = async ({ sql, config }, request, reply) => {
  await signOutEverywhere(sql, actorOf(request), getSignedIn(request).id)
  return endSession(reply, config, 'everywhere')
}

/** GET /admin/account */
export const showAccount: Handler = async ({ sql }, request, reply) => {
  const { id, email } = getSignedIn(request)
  const [{ hasPassword }, sessions] = await Promise.all([
    getAdministrator(sql, id),
    listSessions(sql, id, request.session.sessionId),
  ])
  return sendPage(
    reply,
    <Layout title="Your account" section="account" narrow>
      <ErrorSummary />
      <h2>Open sessions</h2>
      <p class="hint">A session ends after an hour without use, and 12 hours after the sign-in.</p>
      <Table label="Open sessions" columns={sessionColumns} rows={sessions} />
      <PostForm action={`${accountPath}/sign-out-everywhere`} class="card" data-sign-out>
        <p>Is one of them not yours, or left open elsewhere? This ends all sessions, including this one.</p>
        <button type="submit" class="secondary">
          Sign out everywhere
        </button>
      </PostForm>
      <h2>Password</h2>
      {hasPassword ? (
        <PostForm action={`${accountPath}/password`} class="card">
          <HiddenEmail email={email} />
          <PasswordField name="current" label="Current password" autocomplete="current-password" />
          <NewPasswordFields />
          <button type="submit">Change the password</button>
        </PostForm>
      ) : (
        <p>You sign in with your organisation, and have no password here.</p>
      )}
    </Layout>,
  )
}

const sessionColumns: Column<SessionRecord>[] = [
  {
    heading: 'Browser',
    cell: ({ userAgent, current }) => (
      <>
        {browserName(userAgent)} {current && <span class="badge good">this one</span>}
      </>
    ),
  },
  { heading: 'Address', cell: ({ address }) => address },
  { heading: 'Since', cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  { heading: 'Last seen', cell: ({ usedAt }) => <Timestamp at={usedAt} /> },
]

// Each entry has a text to search in the User-Agent header, and a name. The first entry whose text is found gives the
// name.
const browsers = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['Chrome', 'Chrome'],
  ['CriOS', 'Chrome'],
  ['Safari', 'Safari'],
  ['curl', 'curl'],
] as const

const systems = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'macOS'],
  ['Linux', 'Linux'],
] as const

/** Returns the usual name of a browser, as in `Firefox on Linux`. */
function browserName(userAgent: string | null): string {
  const nameIn = (entries: readonly (readonly [string, string])[]) =>
    entries.find(([part]) => userAgent?.includes(part))?.[1]
  return [nameIn(browsers), nameIn(systems)].filter(Boolean).join(' on ') || 'Unknown'
}
