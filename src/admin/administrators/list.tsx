import {
  type AdministratorRecord,
  getRemovable,
  listAdministrators,
  parseEmail,
  removeAdministrator,
} from '../../domain/administrator/administrator.ts'
import {
  inviteAdministrator,
  listInvitations,
  type PendingInvitation,
  withdrawInvitation,
} from '../../domain/administrator/invitation.ts'
import { badInput } from '../../domain/errors.ts'
import { requireIdentifier } from '../../domain/value/identifier.ts'
import { adminPath, setupPath } from '../../http/paths.ts'
import { TextToCopy } from '../components/copy-button.tsx'
import { EmailField, ErrorSummary } from '../components/field.tsx'
import { Timestamp } from '../components/format.tsx'
import { ButtonLink, ConfirmForm, Layout, PostForm } from '../components/layout.tsx'
import { type Column, Table } from '../components/table.tsx'
import { actorOf, getSignedIn, type Handler, type HandlerById, redirectWithFlash, sendPage } from '../context.ts'
import { formBody, textField } from '../form-body.ts'

const administratorsPath = `${adminPath}/administrators`

const removePath = ({ id }: AdministratorRecord) => `${administratorsPath}/${id}/remove`

/** Creates the one-time link of an invitation, and shows it once. */
export const invite: Handler = async ({ sql }, request, reply) => {
  const email = parseEmail(formBody(request).get('email') ?? '')
  if (email === null) throw badInput({ email: ['Give an e-mail, such as ann@example.com.'] })
  const secret = await inviteAdministrator(sql, actorOf(request), email, getSignedIn(request))
  const link = `${request.publicOrigin}${setupPath}/${secret}`
  return sendPage(reply.code(201), <InvitationMessage email={email} link={link} />)
}

/** Withdraws an invitation. */
export const withdraw: Handler = async ({ sql }, request, reply) => {
  const email = textField(formBody(request), 'email')
  await withdrawInvitation(sql, actorOf(request), email)
  return redirectWithFlash(reply, administratorsPath, `The invitation of ${email} is withdrawn.`)
}

/** Shows the administrators and pending invitations, and the form that invites another. */
export const showAdministrators: Handler = async ({ sql }, request, reply) => {
  const [administrators, invitations] = await Promise.all([listAdministrators(sql), listInvitations(sql)])
  return sendPage(
    reply,
    <Layout title="Administrators" section="administrators">
      <ErrorSummary />
      <Table label="Administrators" columns={administratorColumns(getSignedIn(request).id)} rows={administrators} />
      {invitations.length > 0 && (
        <>
          <h2>Pending invitations</h2>
          <Table label="Pending invitations" columns={invitationColumns} rows={invitations} />
        </>
      )}
      <h2>Invite another administrator</h2>
      <PostForm action={administratorsPath} class="card">
        <EmailField
          hint="You get a one-time link to hand over. It opens a page to choose a password, within 24 hours."
          autocomplete="off"
        />
        <button type="submit">Create the link</button>
      </PostForm>
    </Layout>,
  )
}

const administratorColumns = (ownId: number): Column<AdministratorRecord>[] => [
  { heading: 'E-mail', cell: ({ email }) => email },
  {
    heading: 'Signs in with',
    cell: ({ hasPassword, hasOpenId }) =>
      [hasPassword && 'password', hasOpenId && 'OpenID'].filter(Boolean).join(' and '),
  },
  { heading: 'Since', cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  { heading: 'Last signed in', cell: ({ signedInAt }) => (signedInAt ? <Timestamp at={signedInAt} /> : 'never') },
  {
    heading: 'Remove',
    cardLabel: '',
    cell: administrator =>
      administrator.id === ownId ? (
        <span class="muted">This is you</span>
      ) : (
        <a class="button secondary small" href={removePath(administrator)} aria-label={`Remove ${administrator.email}`}>
          Remove
        </a>
      ),
  },
]

const invitationColumns: Column<PendingInvitation>[] = [
  { heading: 'E-mail', cell: ({ email }) => email },
  { heading: 'Invited', cell: ({ createdAt }) => <Timestamp at={createdAt} /> },
  { heading: 'By', cell: ({ invitedBy }) => invitedBy ?? 'the command line' },
  { heading: 'The link expires', cell: ({ expiresAt }) => <Timestamp at={expiresAt} /> },
  {
    heading: 'Withdraw',
    cardLabel: '',
    cell: ({ email }) => (
      <PostForm action={`${administratorsPath}/withdraw`}>
        <input type="hidden" name="email" value={email} />
        <button type="submit" class="secondary small" aria-label={`Withdraw ${email}`}>
          Withdraw
        </button>
      </PostForm>
    ),
  },
]

const InvitationMessage = ({ email, link }: { email: string; link: string }) => (
  <Layout title="The link is created" section="administrators" narrow>
    <p class="warning">
      Hand it to {email} through a safe channel: anyone who has it becomes an administrator. It is shown only once.
    </p>
    <div class="card">
      <p>It opens a page to choose a password, once, within 24 hours.</p>
      <TextToCopy id="link" text={link} />
    </div>
    <p>
      <ButtonLink kind="primary" href={administratorsPath} label="I have copied it: back to the administrators" />
    </p>
  </Layout>
)

/** Shows the page that asks for the confirmation to remove an administrator. */
export const showRemove: HandlerById = async ({ sql }, request, reply) => {
  const administrator = await getRemovable(
    sql,
    requireIdentifier(request.params.id, 'administrator'),
    getSignedIn(request),
  )
  return sendPage(
    reply,
    <Layout title={`Remove ${administrator.email}?`} section="administrators" narrow>
      <div class="card danger-zone">
        <p>
          All sessions of this account end, and it cannot sign in any more. The tokens that it created stay valid, and
          its audit entries stay. The links that it created for others become invalid. An invitation restores the
          account.
        </p>
      </div>
      <ConfirmForm
        action={removePath(administrator)}
        confirm="Remove the administrator"
        cancelPath={administratorsPath}
      />
    </Layout>,
  )
}

/** Removes an administrator. */
export const remove: HandlerById = async ({ sql }, request, reply) => {
  const { email } = await getRemovable(sql, requireIdentifier(request.params.id, 'administrator'), getSignedIn(request))
  await removeAdministrator(sql, actorOf(request), email)
  return redirectWithFlash(reply, administratorsPath, `${email} is removed, and signed out everywhere.`)
}
