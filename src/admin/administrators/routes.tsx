import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  type AdministratorRecord,
  getAdministrator,
  listAdministrators,
  parseEmail,
  removeAdministrator,
} from '../../domain/administrator.ts'
import { badInput } from '../../domain/errors.ts'
import { requireIdentifier } from '../../domain/identifier.ts'
import { inviteAdministrator, withdrawInvitation } from '../../domain/invitation.ts'
import { setupPath } from '../../http/paths.ts'
import { TextToCopy } from '../components/copy-button.tsx'
import { ConfirmForm, Layout } from '../components/layout.tsx'
import { type AdminContext, actorOf, getSignedIn, type RequestById, redirectWithFlash, sendPage } from '../context.ts'
import { formBody, textField } from '../form-body.ts'
import { listPath, removePath, sendList } from './list.tsx'

/** Registers the pages of the administrators: the list, invitations, and removal. */
export function registerAdministrators(scope: FastifyInstance, context: AdminContext): void {
  scope.get('/administrators', (request, reply) => sendList(context, request, reply))
  scope.post('/administrators', invite(context))
  scope.post('/administrators/withdraw', withdraw(context))
  scope.get('/administrators/:id/remove', showRemove(context))
  scope.post('/administrators/:id/remove', remove(context))
}

const invite = (context: AdminContext) => async (request: FastifyRequest, reply: FastifyReply) => {
  const { sql } = context
  const entered = formBody(request).get('email') ?? ''
  const email = parseEmail(entered)
  const sendError = (message: string) =>
    sendList(context, request, reply, { email: entered, fieldErrors: { email: [message] } })
  if (email === null) return sendError('Give an e-mail, such as ann@example.com.')
  const administrators = await listAdministrators(sql)
  if (administrators.some(administrator => administrator.email === email)) {
    return sendError('This is an administrator already.')
  }
  const secret = await inviteAdministrator(sql, actorOf(request), email, getSignedIn(request))
  const link = `${request.publicOrigin}${setupPath}/${secret}`
  return sendPage(request, reply, <Invited email={email} link={link} />, 201)
}

const withdraw =
  ({ sql }: AdminContext) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    const email = textField(formBody(request), 'email')
    await withdrawInvitation(sql, actorOf(request), email)
    return redirectWithFlash(request, reply, listPath, `The invitation of ${email} is withdrawn.`)
  }

const showRemove = (context: AdminContext) => async (request: RequestById, reply: FastifyReply) =>
  sendPage(request, reply, <Remove administrator={await getOther(context, request)} />)

const remove = (context: AdminContext) => async (request: RequestById, reply: FastifyReply) => {
  const { email } = await getOther(context, request)
  await removeAdministrator(context.sql, actorOf(request), email)
  return redirectWithFlash(request, reply, listPath, `${email} is removed, and signed out everywhere.`)
}

/** @throws `NOT_FOUND`; `BAD_USER_INPUT` when it is the administrator who is signed in */
async function getOther({ sql }: AdminContext, request: RequestById): Promise<AdministratorRecord> {
  const administrator = await getAdministrator(sql, requireIdentifier(request.params.id, 'administrator'))
  if (administrator.id === getSignedIn(request).id) {
    throw badInput({ administrator: ['You cannot remove yourself: another administrator can do it.'] })
  }
  return administrator
}

function Invited({ email, link }: { email: string; link: string }) {
  return (
    <Layout title="The link is created" section="administrators" narrow>
      <p class="warning">
        Hand it to {email} through a safe channel: anyone who has it becomes an administrator. It is shown only once.
      </p>
      <div class="card">
        <p>It opens a page to choose a password, once, within 24 hours.</p>
        <TextToCopy id="link" text={link} />
      </div>
      <p>
        <a class="button" href={listPath}>
          I have copied it: back to the administrators
        </a>
      </p>
    </Layout>
  )
}

function Remove({ administrator }: { administrator: AdministratorRecord }) {
  return (
    <Layout title={`Remove ${administrator.email}?`} section="administrators" narrow>
      <div class="card danger-zone">
        <p>
          All sessions of this account end, and it cannot sign in any more. The tokens that it created stay valid, and
          its audit entries stay. The links that it created for others become invalid. An invitation restores the
          account.
        </p>
      </div>
      <ConfirmForm action={removePath(administrator)} confirm="Remove the administrator" cancelPath={listPath} />
    </Layout>
  )
}
