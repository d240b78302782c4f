import type { FastifyRequest } from 'fastify'
import {
  type AdministratorRecord,
  getAdministrator,
  removeAdministrator,
} from '../../domain/administrator/administrator.ts'
import { badInput } from '../../domain/errors.ts'
import { requireIdentifier } from '../../domain/value/identifier.ts'
import { ConfirmForm, Layout } from '../components/layout.tsx'
import { type AdminContext, actorOf, getSignedIn, type HandlerById, redirectWithFlash, sendPage } from '../context.ts'
import { listPath, removePath } from './list.tsx'

/** Asks whether to remove an administrator. */
export const showRemove: HandlerById = async (context, request, reply) => {
  const administrator = await getOther(context, request, request.params.id)
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
      <ConfirmForm action={removePath(administrator)} confirm="Remove the administrator" cancelPath={listPath} />
    </Layout>,
  )
}

/** Removes an administrator. */
export const remove: HandlerById = async (context, request, reply) => {
  const { email } = await getOther(context, request, request.params.id)
  await removeAdministrator(context.sql, actorOf(request), email)
  return redirectWithFlash(reply, listPath, `${email} is removed, and signed out everywhere.`)
}

/** @throws `NOT_FOUND`; `BAD_USER_INPUT` when it is the administrator who is signed in */
async function getOther({ sql }: AdminContext, request: FastifyRequest, id: string): Promise<AdministratorRecord> {
  const administrator = await getAdministrator(sql, requireIdentifier(id, 'administrator'))
  if (administrator.id === getSignedIn(request).id) {
    throw badInput({ administrator: ['You cannot remove yourself: another administrator can do it.'] })
  }
  return administrator
}
