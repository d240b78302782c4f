// The pages behind one-time links. On them the first administrator creates the account, and invited administrators
// choose a password.
import { parseEmail } from '../../domain/administrator/administrator.ts'
import { acceptInvitation, findInvitation, type Invitation } from '../../domain/administrator/invitation.ts'
import { passwordErrors } from '../../domain/administrator/password.ts'
import { badInput, throwIfErrors } from '../../domain/errors.ts'
import { clientAddress } from '../../http/client-address.ts'
import { adminPath } from '../../http/paths.ts'
import { EmailField, ErrorSummary, HiddenEmail, NewPasswordFields } from '../components/field.tsx'
import { Layout, PostForm, Section } from '../components/layout.tsx'
import { type Handler, redirectWithFlash, sendPage } from '../context.ts'
import { formBody } from '../form-body.ts'
import { signIn } from './session.ts'

type SetupHandler = Handler<{ secret: string }>

/** GET /admin/setup/:secret */
export const showSetup: SetupHandler = async ({ sql }, request, reply) => {
  const invitation = await findInvitation(sql, request.params.secret)
  if (!invitation) return sendPage(reply.code(404), <InvalidLink />)
  return sendPage(reply, <Setup action={request.url} invitation={invitation} />)
}

/** POST /admin/setup/:secret */
export const setUp: SetupHandler = async ({ sql }, request, reply) => {
  const { secret } = request.params
  const invitation = await findInvitation(sql, secret)
  if (!invitation) return sendPage(reply.code(404), <InvalidLink />)
  const form = formBody(request)
  const email = invitation.email ?? parseEmail(form.get('email') ?? '')
  const password = form.get('password') ?? ''
  const fieldErrors = passwordErrors(email ?? '', password, form.get('again') ?? '')
  if (email === null) throw badInput({ email: ['Give an e-mail, such as ann@example.com.'], ...fieldErrors })
  throwIfErrors(fieldErrors)
  const actor = { name: email, address: clientAddress(request) }
  const verified = await acceptInvitation(sql, actor, secret, invitation, password)
  if (!verified || !(await signIn(sql, request, verified, 'link'))) return sendPage(reply.code(404), <InvalidLink />)
  return redirectWithFlash(reply, `${adminPath}/tokens`, 'Your password is set, and you are signed in.')
}

function Setup({ action, invitation }: { action: string; invitation: Invitation }) {
  const first = invitation.email === null
  return (
    <Layout title={first ? 'Set up the first administrator' : 'Choose your password'} narrow>
      <p>
        {first
          ? 'This service has no administrator yet. An administrator creates tokens, and sees how they are used.'
          : 'This link works once. It sets the password, ends all open sessions of the account, and signs you in.'}
      </p>
      <ErrorSummary />
      <PostForm action={action} class="card">
        {invitation.email === null ? (
          <EmailField autocomplete="username" />
        ) : (
          <>
            <p>
              For <strong>{invitation.email}</strong>
            </p>
            <HiddenEmail email={invitation.email} />
          </>
        )}
        <NewPasswordFields />
        <button type="submit">{first ? 'Create the administrator' : 'Set the password'}</button>
      </PostForm>
    </Layout>
  )
}

function InvalidLink() {
  return (
    <Layout title="This link is not valid" narrow>
      <div class="card">
        <p>
          A link works once and expires after 24 hours; a newer link of the same account replaces it. Ask an
          administrator for another link, or create a link with this command, where the service runs:
        </p>
        <AdminCreateCommand />
        <p>
          <a href={adminPath}>To the sign-in</a>
        </p>
      </div>
    </Layout>
  )
}

/** Shows the command that creates an administrator, one for each way to run the service. */
export function AdminCreateCommand() {
  return (
    <>
      <pre class="code-block">npm run cli -- admin create --email you@example.com</pre>
      <p>
        With an image, the command follows its name:{' '}
        <code>docker run -e DATABASE_URL=… voucher-gateway admin create --email you@example.com</code>.
      </p>
    </>
  )
}

/**
 * Instructions to create the first administrator. The sign-in page shows these instructions as long as there is no
 * administrator.
 */
export function NoAdministratorYet({ openId }: { openId: boolean }) {
  return (
    <Section id="no-administrator" title="There is no administrator yet">
      <p>
        Open the one-time link that the service printed when it was started in a terminal. Or create a link with this
        command, where the service runs:
      </p>
      <AdminCreateCommand />
      {openId && <p>Or sign in with your organisation.</p>}
    </Section>
  )
}
