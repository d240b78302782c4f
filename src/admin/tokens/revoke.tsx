import { revokeToken } from '../../domain/token/lifecycle.ts'
import { Facts } from '../../pages/facts.tsx'
import { ConfirmForm, Layout } from '../components/layout.tsx'
import { actorOf, type HandlerById, redirectWithFlash, sendPage } from '../context.ts'
import { InactiveTokenPage, LastUse, loadToken, tokenPath } from './parts.tsx'

/** GET /admin/tokens/:id/revoke */
export const showRevoke: HandlerById = async (context, request, reply) => {
  const token = await loadToken(context, request.params)
  if (token.revokedAt) return sendPage(reply, <InactiveTokenPage token={token} action="Revoke" />)
  return sendPage(
    reply,
    <Layout title={`Revoke ${token.name}?`} section="tokens" narrow>
      <div class="card danger-zone">
        <p>REST and GraphQL reject this token within a second. This cannot be undone: the partner needs a new token.</p>
        <Facts
          facts={{
            Name: token.name,
            Token: <code>{token.hint}</code>,
            'Last used': <LastUse token={token} />,
          }}
        />
      </div>
      <ConfirmForm action={tokenPath(token.id, 'revoke')} confirm="Revoke the token" cancelPath={tokenPath(token.id)} />
    </Layout>,
  )
}

/** POST /admin/tokens/:id/revoke */
export const revoke: HandlerById = async (context, request, reply) => {
  const { id } = await loadToken(context, request.params)
  await revokeToken(context.sql, actorOf(request), id)
  const message = 'The token is revoked. All instances of the service reject it within a second.'
  return redirectWithFlash(reply, tokenPath(id), message)
}
