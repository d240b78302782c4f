import type { FastifyReply } from 'fastify'
import { revokeToken } from '../../domain/token-lifecycle.ts'
import { CsrfToken, Page, sendPage } from '../components/layout.tsx'
import { actorOf, say, viewOf } from '../context.ts'
import type { AdminContext } from '../index.ts'
import { LastUse, NoLonger, type TokenRequest, tokenOf, tokenPath } from './parts.tsx'

/** GET /admin/tokens/:id/revoke */
export async function showRevoke(parts: AdminContext, request: TokenRequest, reply: FastifyReply) {
  const token = await tokenOf(parts, request)
  const view = viewOf(request, reply)
  if (token.revokedAt) return sendPage(reply, <NoLonger view={view} token={token} title="Revoke" />)
  return sendPage(
    reply,
    <Page title={`Revoke ${token.name}?`} view={view} place="tokens" narrow>
      <div class="card danger-zone">
        <p>
          Whoever uses this token is refused within a second, at every door. That cannot be undone: the partner needs a
          new token.
        </p>
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
      <form method="post" action={tokenPath(token.id, 'revoke')} class="actions">
        <CsrfToken view={view} />
        <button type="submit" class="danger">
          Revoke the token
        </button>
        <a class="button plain" href={tokenPath(token.id)}>
          Cancel
        </a>
      </form>
    </Page>,
  )
}

/** POST /admin/tokens/:id/revoke */
export async function revoke(parts: AdminContext, request: TokenRequest, reply: FastifyReply) {
  const token = await tokenOf(parts, request)
  await revokeToken(parts.sql, actorOf(request), token.id)
  say(request, 'The token is revoked. It is refused everywhere within a second.')
  return reply.redirect(tokenPath(token.id), 303)
}
