import { revokeToken } from '../../domain/token/lifecycle.ts'
import { ConfirmForm, Layout } from '../components/layout.tsx'
import { actorOf, type HandlerById, redirectWithFlash, sendPage } from '../context.ts'
import { Fact, InactiveTokenPage, LastUse, tokenOf, tokenPath } from './parts.tsx'

/** GET /admin/tokens/:id/revoke */
export const showRevoke: HandlerById = async (context, request, reply) => {
  const token = await tokenOf(context, request.params)
  if (token.revokedAt) return sendPage(reply, <InactiveTokenPage token={token} action="Revoke" />)
  return sendPage(
    reply,
    <Layout title={`Revoke ${token.name}?`} section="tokens" narrow>
      <div class="card danger-zone">
        <p>REST and GraphQL reject this token within a second. This cannot be undone: the partner needs a new token.</p>
        <dl class="facts">
          <Fact name="Name">{token.name}</Fact>
          <Fact name="Token">
            <code>{token.hint}</code>
          </Fact>
          <Fact name="Last used">
            <LastUse token={token} />
          </Fact>
        </dl>
      </div>
      <ConfirmForm action={tokenPath(token.id, 'revoke')} confirm="Revoke the token" cancelPath={tokenPath(token.id)} />
    </Layout>,
  )
}

/** POST /admin/tokens/:id/revoke */
export const revoke: HandlerById = async (context, request, reply) => {
  const { id } = await tokenOf(context, request.params)
  await revokeToken(context.sql, actorOf(request), id)
  const message = 'The token is revoked. All instances of the service reject it within a second.'
  return redirectWithFlash(reply, tokenPath(id), message)
}
