import { getRemovable, removeAdministrator } from '../../domain/administrator/administrator.ts'
import { requireIdentifier } from '../../domain/value/identifier.ts'
import { ConfirmForm, Layout } from '../components/layout.tsx'
import { actorOf, getSignedIn, type HandlerById, redirectWithFlash, sendPage } from '../context.ts'
import { administratorsPath, removePath } from './list.tsx'

/** Asks whether to remove an administrator. */
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
