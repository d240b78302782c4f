import type { FastifyReply } from 'fastify'
import type { AlreadyCreated, CreatedToken } from '../../domain/token/lifecycle.ts'
import { v1Path } from '../../http/paths.ts'
import { TextToCopy } from '../components/copy-button.tsx'
import { ButtonLink, Layout, Section } from '../components/layout.tsx'
import { redirectWithFlash, sendPage } from '../context.ts'
import { tokenPath } from './parts.tsx'

/** Answers with the secret of a new token; redirects to the token when the same form has already created it. */
export function sendSecret(reply: FastifyReply, { id, secret }: CreatedToken | AlreadyCreated): FastifyReply {
  if (secret === null) {
    const message =
      'This form has already created its token. Its secret cannot be shown again: if it is lost, rotate it.'
    return redirectWithFlash(reply, tokenPath(id), message)
  }
  const url = `${reply.request.publicOrigin}${v1Path}/tenants`
  const command = `curl -H 'Accept: application/json' -H 'Authorization: Bearer ${secret}' ${url}`
  return sendPage(
    reply.code(201),
    <Layout title="The token is created" section="tokens" narrow>
      <p class="warning">
        Copy the secret now, and hand it over through a safe channel. It is shown only once, and the service does not
        store it.
      </p>
      <Section id="secret-heading" title="Secret">
        <TextToCopy id="secret" text={secret} />
        <h2>Try it</h2>
        <p class="hint">This lists the tenants that the token reaches.</p>
        <TextToCopy id="curl" text={command} />
      </Section>
      <p>
        <ButtonLink kind="primary" href={tokenPath(id)} label="I have copied it: go to the token" />
      </p>
    </Layout>,
  )
}
