import type { FastifyReply } from 'fastify'
import { revokeToken } from '../../domain/token-lifecycle.ts'
import { ConfirmForm, Layout } from '../components/layout.tsx'
import { type AdminContext, actorOf, type RequestById, redirectWithFlash, sendPage } from '../context.ts'
import { LastUse, NotActive, tokenOf, tokenPath } from './parts.tsx'

/** GET /admin/tokens/:id/revoke */
export const showRevoke = (context: AdminContext) => async (request: RequestById, reply: FastifyReply) => {
  const token = await tokenOf(context, request)
  if (token.revokedAt) return sendPage(request, reply, <NotActive token={token} action="Revoke" />)
  return sendPage(
    request,
    reply,
    <Layout title={`Revoke ${token.name}?`} section="tokens" narrow>
      <div class="card danger-zone">
        <p>REST and GraphQL reject this token within a second. This cannot be undone: the partner needs a new token.</p>
        <dl class="facts">
          <dt>Name</dt>
          <dd>{token.name}</dd>
          <dt>Token</dt>
          <dd>
            <code>{token.hint}</code>
          </dd>
          <dt>Last used</dt>
          <dd>
            <LastUse token={token} />
          </dd>
        </dl>
      </div>
      <ConfirmForm action={tokenPath(token.id, 'revoke')} confirm="Revoke the token" cancelPath={tokenPath(token.id)} />
    </Layout>,
  )
}

/** POST /admin/tokens/:id/revoke */
export const revoke = (context: AdminContext) => async (request: RequestById, reply: FastifyReply) => {
  const { id } = await tokenOf(context, request)
  await revokeToken(context.sql, actorOf(request), id)
  return redirectWithFlash(
    request,
    reply,
    tokenPath(id),
    'The token is revoked. All instances of the service reject it within a second.',
  )
}
