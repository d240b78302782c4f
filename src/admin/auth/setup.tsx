import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { parseEmail } from '../../domain/administrator.ts'
import type { FieldErrors } from '../../domain/errors.ts'
import { acceptFirstInvitation, acceptInvitation, findInvitation, type Invitation } from '../../domain/invitation.ts'
import { passwordErrors, passwordHint } from '../../domain/password.ts'
import { clientAddress } from '../../http/caller.ts'
import { adminPath } from '../../http/paths.ts'
import { FaultSummary, Field } from '../components/field.tsx'
import { CsrfToken, Page, sendPage, type View } from '../components/layout.tsx'
import { formOf, say, viewOf } from '../context.ts'
import type { AdminContext } from '../index.ts'
import { AdminCreateCommand } from './first-administrator.tsx'
import { signIn } from './session.ts'

type SetupRequest = FastifyRequest<{ Params: { secret: string } }>

/** One-time links: the first administrator sets himself up, and others choose their (new) password. */
export function registerSetupPages(scope: FastifyInstance, { sql }: AdminContext): void {
  const sendVoid = (request: FastifyRequest, reply: FastifyReply) =>
    sendPage(reply, <VoidLink view={viewOf(request, reply)} />, 404)

  scope.get('/setup/:secret', async (request: SetupRequest, reply) => {
    const invitation = await findInvitation(sql, request.params.secret)
    if (!invitation) return sendVoid(request, reply)
    return sendPage(reply, <Setup view={viewOf(request, reply)} action={request.url} invitation={invitation} />)
  })

  scope.post('/setup/:secret', async (request: SetupRequest, reply) => {
    const { secret } = request.params
    const invitation = await findInvitation(sql, secret)
    if (!invitation) return sendVoid(request, reply)
    const form = formOf(request)
    const given = form.get('email') ?? ''
    const email = invitation.email ?? parseEmail(given)
    const password = form.get('password') ?? ''
    const fieldErrors: FieldErrors = {
      ...(email === null ? { email: ['Give an e-mail, such as ann@example.com.'] } : {}),
      ...passwordErrors(email ?? '', password, form.get('again') ?? ''),
    }
    if (email === null || Object.keys(fieldErrors).length > 0) {
      const view = viewOf(request, reply)
      const page = (
        <Setup view={view} action={request.url} invitation={invitation} email={given} fieldErrors={fieldErrors} />
      )
      return sendPage(reply, page, 422)
    }
    const use = invitation.email === null ? acceptFirstInvitation : acceptInvitation
    const proven = await use(sql, secret, { email, address: clientAddress(request) }, password)
    if (!proven || !(await signIn(sql, request, proven, 'link'))) return sendVoid(request, reply)
    say(request, 'Your password is set, and you are signed in.')
    return reply.redirect(`${adminPath}/tokens`, 303)
  })
}

interface SetupProps {
  view: View
  action: string
  invitation: Invitation
  email?: string
  fieldErrors?: FieldErrors
}

function Setup({ view, action, invitation, email = '', fieldErrors = {} }: SetupProps) {
  const first = invitation.email === null
  return (
    <Page title={first ? 'Set up the first administrator' : 'Choose your password'} view={view} narrow>
      <p>
        {first
          ? 'Nobody administers this service yet. Whoever does so creates tokens, and sees what they are used for.'
          : 'This link works once. It sets the password, ends all open sessions of the account, and signs you in.'}
      </p>
      <FaultSummary fieldErrors={fieldErrors} />
      <form method="post" action={action} class="card">
        <CsrfToken view={view} />
        {first ? (
          <Field
            name="email"
            label="E-mail"
            type="email"
            value={email}
            fieldErrors={fieldErrors}
            required
            maxlength={254}
            autocomplete="username"
          />
        ) : (
          <>
            <p>
              For <strong>{invitation.email}</strong>
            </p>
            <HiddenEmail email={invitation.email ?? ''} />
          </>
        )}
        <PasswordFields fieldErrors={fieldErrors} />
        <button type="submit">{first ? 'Create the administrator' : 'Set the password'}</button>
      </form>
    </Page>
  )
}

/** Tells password keepers whose password it is. */
export const HiddenEmail = ({ email }: { email: string }) => (
  <input type="text" name="email" value={email} autocomplete="username" hidden readonly />
)

/** A new password, twice. */
export function PasswordFields({ fieldErrors }: { fieldErrors: FieldErrors }) {
  return (
    <>
      <Field
        name="password"
        label="New password"
        type="password"
        hint={passwordHint}
        fieldErrors={fieldErrors}
        required
        autocomplete="new-password"
      />
      <Field
        name="again"
        label="The same password again"
        type="password"
        fieldErrors={fieldErrors}
        required
        autocomplete="new-password"
      />
    </>
  )
}

function VoidLink({ view }: { view: View }) {
  return (
    <Page title="This link does not hold" view={view} narrow>
      <div class="card">
        <p>
          A link works once and expires after 24 hours; a newer link of the same account replaces it. Ask an
          administrator for another, or make one with this command, where the service runs:
        </p>
        <AdminCreateCommand />
        <p>
          <a href={adminPath}>To the sign-in</a>
        </p>
      </div>
    </Page>
  )
}
