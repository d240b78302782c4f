import type { FastifyInstance, FastifyRequest } from 'fastify'
import {
  type Administrator,
  type AdministratorRecord,
  getAdministrator,
  listAdministrators,
  parseEmail,
  removeAdministrator,
} from '../../domain/administrator.ts'
import { badInput, type FieldErrors } from '../../domain/errors.ts'
import { requireIdentifier } from '../../domain/identifier.ts'
import {
  inviteAdministrator,
  listInvitations,
  type PendingInvitation,
  withdrawInvitation,
} from '../../domain/invitation.ts'
import { adminPath, setupPath } from '../../http/paths.ts'
import { Copied } from '../components/copy-button.tsx'
import { FaultSummary, Field } from '../components/field.tsx'
import { CsrfToken, Page, sendPage, type View } from '../components/layout.tsx'
import { Scroll } from '../components/scroll-region.tsx'
import { Moment } from '../components/timestamp.tsx'
import { actorOf, formOf, originOf, say, viewOf, visitor } from '../context.ts'
import { textOf } from '../form-body.ts'
import type { AdminContext } from '../index.ts'

const listPath = `${adminPath}/administrators`
const withdrawPath = `${listPath}/withdraw`
const removePath = ({ id }: Administrator) => `${listPath}/${id}/remove`

type OneRequest = FastifyRequest<{ Params: { id: string } }>

/** Who administers the service: the list, inviting, and removing. */
export function registerAdministratorPages(scope: FastifyInstance, { sql }: AdminContext): void {
  const load = async () => {
    const [administrators, invitations] = await Promise.all([listAdministrators(sql), listInvitations(sql)])
    return { administrators, invitations }
  }

  scope.get('/administrators', async (request, reply) => {
    const lists = await load()
    return sendPage(reply, <Administrators view={viewOf(request, reply)} {...lists} />)
  })

  scope.post('/administrators', async (request, reply) => {
    const given = formOf(request).get('email') ?? ''
    const email = parseEmail(given)
    const lists = await load()
    const known = lists.administrators.some(administrator => administrator.email === email)
    if (email === null || known) {
      const fault = known ? 'This is an administrator already.' : 'Give an e-mail, such as ann@example.com.'
      const view = viewOf(request, reply)
      return sendPage(
        reply,
        <Administrators view={view} {...lists} email={given} fieldErrors={{ email: [fault] }} />,
        422,
      )
    }
    const secret = await inviteAdministrator(sql, actorOf(request), email, visitor(request))
    const link = `${originOf(request)}${setupPath}/${secret}`
    return sendPage(reply, <Invited view={viewOf(request, reply)} email={email} link={link} />, 201)
  })

  scope.post('/administrators/withdraw', async (request, reply) => {
    const email = textOf(formOf(request), 'email')
    await withdrawInvitation(sql, actorOf(request), email)
    say(request, `The invitation of ${email} is withdrawn.`)
    return reply.redirect(listPath, 303)
  })

  /** @throws `NOT_FOUND`; `BAD_USER_INPUT` when it is whoever asks */
  async function anotherOne(request: OneRequest): Promise<AdministratorRecord> {
    const administrator = await getAdministrator(sql, requireIdentifier(request.params.id, 'administrator'))
    if (administrator.id === visitor(request).id) {
      throw badInput({ administrator: ['You cannot remove yourself: let another administrator do it.'] })
    }
    return administrator
  }

  scope.get('/administrators/:id/remove', async (request: OneRequest, reply) => {
    const administrator = await anotherOne(request)
    return sendPage(reply, <Removal view={viewOf(request, reply)} administrator={administrator} />)
  })

  scope.post('/administrators/:id/remove', async (request: OneRequest, reply) => {
    const { email } = await anotherOne(request)
    await removeAdministrator(sql, actorOf(request), email)
    say(request, `${email} is removed, and signed out everywhere.`)
    return reply.redirect(listPath, 303)
  })
}

interface AdministratorsProps {
  view: View
  administrators: AdministratorRecord[]
  invitations: PendingInvitation[]
  email?: string
  fieldErrors?: FieldErrors
}

function Administrators({ view, administrators, invitations, email = '', fieldErrors = {} }: AdministratorsProps) {
  return (
    <Page title="Administrators" view={view} place="administrators">
      <FaultSummary fieldErrors={fieldErrors} />
      <Scroll label="Administrators">
        <table class="cards" aria-label="Administrators">
          <thead>
            <tr>
              <th scope="col">E-mail</th>
              <th scope="col">Signs in with</th>
              <th scope="col">Since</th>
              <th scope="col">Last signed in</th>
              <th scope="col">
                <span class="soft">Remove</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {administrators.map(administrator => (
              <Row
                key={administrator.id}
                administrator={administrator}
                own={administrator.id === view.administrator?.id}
              />
            ))}
          </tbody>
        </table>
      </Scroll>
      {invitations.length > 0 && (
        <>
          <h2>Invited, not there yet</h2>
          <Scroll label="Invited">
            <table class="cards" aria-label="Invited">
              <thead>
                <tr>
                  <th scope="col">E-mail</th>
                  <th scope="col">Invited</th>
                  <th scope="col">By</th>
                  <th scope="col">The link ends</th>
                  <th scope="col">
                    <span class="soft">Withdraw</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {invitations.map(invitation => (
                  <tr key={invitation.email}>
                    <th scope="row">{invitation.email}</th>
                    <td data-label="Invited">
                      <Moment at={invitation.createdAt} />
                    </td>
                    <td data-label="By">{invitation.invitedBy ?? 'the command line'}</td>
                    <td data-label="The link ends">
                      <Moment at={invitation.expiresAt} />
                    </td>
                    <td>
                      <form method="post" action={withdrawPath}>
                        <CsrfToken view={view} />
                        <input type="hidden" name="email" value={invitation.email} />
                        <button type="submit" class="plain small" aria-label={`Withdraw ${invitation.email}`}>
                          Withdraw
                        </button>
                      </form>
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Scroll>
        </>
      )}
      <h2>Invite another</h2>
      <form method="post" action={listPath} class="card">
        <CsrfToken view={view} />
        <Field
          name="email"
          label="E-mail"
          type="email"
          hint="You get a link to hand over. With it they choose a password, once, within 24 hours."
          value={email}
          fieldErrors={fieldErrors}
          required
          maxlength={254}
          autocomplete="off"
        />
        <button type="submit">Make the link</button>
      </form>
    </Page>
  )
}

function Row({ administrator, own }: { administrator: AdministratorRecord; own: boolean }) {
  const { email, hasPassword, hasOpenId, createdAt, signedInAt } = administrator
  const means = [hasPassword && 'password', hasOpenId && 'OpenID'].filter(Boolean).join(' and ')
  return (
    <tr>
      <th scope="row">{email}</th>
      <td data-label="Signs in with">{means}</td>
      <td data-label="Since">
        <Moment at={createdAt} />
      </td>
      <td data-label="Last signed in">{signedInAt ? <Moment at={signedInAt} /> : 'never'}</td>
      <td>
        {own ? (
          <span class="soft">This is you</span>
        ) : (
          <a class="button plain small" href={removePath(administrator)} aria-label={`Remove ${email}`}>
            Remove
          </a>
        )}
      </td>
    </tr>
  )
}

function Invited({ view, email, link }: { view: View; email: string; link: string }) {
  return (
    <Page title="The link is made" view={view} place="administrators" narrow>
      <p class="warning">
        Hand it to {email} by a safe way: whoever has it becomes an administrator. It is shown this once.
      </p>
      <div class="card">
        <p>With this link they choose a password, once, within 24 hours.</p>
        <Copied id="link" text={link} />
      </div>
      <p>
        <a class="button" href={listPath}>
          I have kept it: back to the administrators
        </a>
      </p>
    </Page>
  )
}

function Removal({ view, administrator }: { view: View; administrator: AdministratorRecord }) {
  return (
    <Page title={`Remove ${administrator.email}?`} view={view} place="administrators" narrow>
      <div class="card danger-zone">
        <p>
          All sessions of this account end at once, and it cannot sign in any more. Tokens that it made go on working,
          and its entries in the audit stay. Links that it made for others are void. An invitation brings it back.
        </p>
      </div>
      <form method="post" action={removePath(administrator)} class="actions">
        <CsrfToken view={view} />
        <button type="submit" class="danger">
          Remove the administrator
        </button>
        <a class="button plain" href={listPath}>
          Cancel
        </a>
      </form>
    </Page>
  )
}
