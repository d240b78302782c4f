import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError } from '../domain/errors.ts'
import { statusOf, toGatewayError } from '../http/errors.ts'
import { adminPath } from '../http/paths.ts'
import { Page, sendPage } from './components/layout.tsx'
import { signedIn, viewOf } from './context.ts'

const titles: Record<ErrorCode, string> = {
  UNAUTHENTICATED: 'Not signed in',
  RATE_LIMITED: 'Too many attempts',
  FORBIDDEN: 'Not allowed',
  NOT_FOUND: 'Not found',
  BAD_USER_INPUT: 'That cannot be done',
  TOO_LARGE: 'Too large',
  TOO_SLOW: 'Too slow',
  METHOD_NOT_ALLOWED: 'Not allowed',
  UNAVAILABLE: 'Not available just now',
  INTERNAL: 'Something went wrong',
}

const notOurs = () =>
  new GatewayError(
    'FORBIDDEN',
    'This form is too old, or was not made here, and nothing was changed. Go back, load the page anew and try again.',
  )

/** What was thrown, as a refusal that may be shown. */
function refusalOf(error: unknown): GatewayError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.startsWith('FST_CSRF_') ? notOurs() : toGatewayError(error)
}

/** Answers with a page that says what is wrong. The service's own errors are told to the log alone. */
export function sendRefusalPage(error: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const refusal = refusalOf(error)
  if (refusal.code === 'INTERNAL') request.log.error({ err: refusal.cause }, 'request failed')
  // Without a cause it is a limit of our own, and a flood of requests should not become one of the log.
  if (refusal.code === 'UNAVAILABLE' && refusal.cause) request.log.warn({ err: refusal.cause }, 'cannot answer')
  if (refusal.retryAfter !== undefined) reply.header('Retry-After', refusal.retryAfter)
  const sentences = refusal.fieldErrors ? Object.values(refusal.fieldErrors).flat() : [refusal.message]
  // Who is not signed in finds no form here, and needs no token for it.
  const view = signedIn(request) ? viewOf(request, reply) : { administrator: null, csrfToken: '', notice: null }
  const page = (
    <Page title={titles[refusal.code]} view={view} narrow>
      <div class="card">
        {sentences.map(sentence => (
          <p key={sentence}>{sentence}</p>
        ))}
        <p>
          <a href={adminPath}>{view.administrator ? 'To the tokens' : 'To the sign-in'}</a>
        </p>
      </div>
    </Page>
  )
  return sendPage(reply, page, statusOf[refusal.code])
}
