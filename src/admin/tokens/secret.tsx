import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AlreadyCreated, NewToken } from '../../domain/token-lifecycle.ts'
import { restPath } from '../../http/paths.ts'
import { Copied } from '../components/copy-button.tsx'
import { Page, sendPage } from '../components/layout.tsx'
import { originOf, say, viewOf } from '../context.ts'
import { tokenPath } from './parts.tsx'

/** Answers with the secret of a token that was made, this once; of one that was made before, with its page. */
export function answerMaking(request: FastifyRequest, reply: FastifyReply, made: NewToken | AlreadyCreated) {
  if (made.secret === null) {
    say(request, 'This form has made its token already. Its secret cannot be shown again: rotate it if it is lost.')
    return reply.redirect(tokenPath(made.id), 303)
  }
  const { id, secret } = made
  const url = `${originOf(request)}${restPath}/tenants`
  const line = `curl -H 'Accept: application/json' -H 'Authorization: Bearer ${secret}' ${url}`
  return sendPage(
    reply,
    <Page title="The token is made" view={viewOf(request, reply)} place="tokens" narrow>
      <p class="warning">
        Keep the secret now, and hand it over by a safe way. It is shown this once, and kept nowhere here.
      </p>
      <section class="card" aria-labelledby="secret-heading">
        <h2 id="secret-heading">Secret</h2>
        <Copied id="secret" text={secret} />
        <h2>Try it</h2>
        <p class="hint">This lists the tenants that the token reaches.</p>
        <Copied id="curl" text={line} />
      </section>
      <p>
        <a class="button" href={tokenPath(id)}>
          I have kept it: go to the token
        </a>
      </p>
    </Page>,
    201,
  )
}
