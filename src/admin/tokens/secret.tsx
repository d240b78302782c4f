import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AlreadyCreated, CreatedToken } from '../../domain/token-lifecycle.ts'
import { v1Path } from '../../http/paths.ts'
import { TextToCopy } from '../components/copy-button.tsx'
import { Layout } from '../components/layout.tsx'
import { redirectWithFlash, sendPage } from '../context.ts'
import { tokenPath } from './parts.tsx'

/** Answers with the secret of a new token; redirects to the token when the same form has already created it. */
export function sendSecret(request: FastifyRequest, reply: FastifyReply, token: CreatedToken | AlreadyCreated) {
  const { id, secret } = token
  if (secret === null) {
    const message =
      'This form has already created its token. Its secret cannot be shown again: if it is lost, rotate it.'
    return redirectWithFlash(request, reply, tokenPath(id), message)
  }
  const url = `${request.publicOrigin}${v1Path}/tenants`
  const command = `curl -H 'Accept: application/json' -H 'Authorization: Bearer ${secret}' ${url}`
  return sendPage(
    request,
    reply,
    <Layout title="The token is created" section="tokens" narrow>
      <p class="warning">
        Copy the secret now, and hand it over through a safe channel. It is shown only once, and the service does not
        store it.
      </p>
      <section class="card" aria-labelledby="secret-heading">
        <h2 id="secret-heading">Secret</h2>
        <TextToCopy id="secret" text={secret} />
        <h2>Try it</h2>
        <p class="hint">This lists the tenants that the token reaches.</p>
        <TextToCopy id="curl" text={command} />
      </section>
      <p>
        <a class="button" href={tokenPath(id)}>
          I have copied it: go to the token
        </a>
      </p>
    </Layout>,
    201,
  )
}
