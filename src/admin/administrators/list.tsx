import type { FastifyReply, FastifyRequest } from 'fastify'
import { type AdministratorRecord, listAdministrators } from '../../domain/administrator.ts'
import { type FieldErrors, hasErrors } from '../../domain/errors.ts'
import { listInvitations, type PendingInvitation } from '../../domain/invitation.ts'
import { adminPath } from '../../http/paths.ts'
import { EmailField, ErrorSummary } from '../components/field.tsx'
import { CsrfField, Layout } from '../components/layout.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Timestamp } from '../components/timestamp.tsx'
import { type AdminContext, getSignedIn, sendPage } from '../context.ts'

/** The path of the list of administrators. */
export const listPath = `${adminPath}/administrators`

/** @returns the path that removes an administrator */
export const removePath = ({ id }: AdministratorRecord): string => `${listPath}/${id}/remove`

interface InviteForm {
  email: string
  fieldErrors: FieldErrors
}

/** Answers with the list of administrators and pending invitations, and the form that invites another. */
export async function sendList(
  { sql }: AdminContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { email, fieldErrors }: InviteForm = { email: '', fieldErrors: {} },
) {
  const [administrators, invitations] = await Promise.all([listAdministrators(sql), listInvitations(sql)])
  const page = (
    <Layout title="Administrators" section="administrators">
      <ErrorSummary fieldErrors={fieldErrors} />
      <Table
        label="Administrators"
        class="cards"
        columns={administratorColumns(getSignedIn(request).id)}
        rows={administrators}
        rowKey={({ id }) => id}
      />
      {invitations.length > 0 && (
        <>
          <h2>Pending invitations</h2>
          <Table
            label="Pending invitations"
            class="cards"
            columns={invitationColumns}
            rows={invitations}
            rowKey={invitation => invitation.email}
          />
        </>
      )}
      <h2>Invite another administrator</h2>
      <form method="post" action={listPath} class="card">
        <CsrfField />
        <EmailField
          hint="You get a one-time link to hand over. It opens a page to choose a password, within 24 hours."
          value={email}
          fieldErrors={fieldErrors}
          autocomplete="off"
        />
        <button type="submit">Create the link</button>
      </form>
    </Layout>
  )
  return sendPage(request, reply, page, hasErrors(fieldErrors) ? 422 : 200)
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
      <form method="post" action={`${listPath}/withdraw`}>
        <CsrfField />
        <input type="hidden" name="email" value={email} />
        <button type="submit" class="secondary small" aria-label={`Withdraw ${email}`}>
          Withdraw
        </button>
      </form>
    ),
  },
]
