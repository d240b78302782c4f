import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError } from '../domain/errors.ts'
import { toRequestError } from '../domain/token/request-count.ts'
import { reportFailure, statusOf, toGatewayError } from '../http/errors.ts'
import { adminPath } from '../http/paths.ts'
import { recordError } from '../http/request-count.ts'
import { Layout } from './components/layout.tsx'
import { findSignedIn, sendPage } from './context.ts'

const titles: Record<ErrorCode, string> = {
  UNAUTHENTICATED: 'Not signed in',
  RATE_LIMITED: 'Too many attempts',
  FORBIDDEN: 'Not allowed',
  NOT_FOUND: 'Not found',
  BAD_USER_INPUT: 'This cannot be done',
  TOO_LARGE: 'Too large',
  TOO_SLOW: 'Too slow',
  METHOD_NOT_ALLOWED: 'Not allowed',
  UNSUPPORTED_MEDIA_TYPE: 'This cannot be read',
  UNAVAILABLE: 'Not available at the moment',
  INTERNAL: 'Something went wrong',
}

const expiredForm =
  'This form has expired, or is not from this page, and nothing was changed. Go back, reload the page and try again.'

function toPageError(error: unknown): GatewayError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return code.startsWith('FST_CSRF_') ? new GatewayError('FORBIDDEN', expiredForm) : toGatewayError(error)
}

/** Answers with a page that describes the error. The cause of an internal error goes to the log only. */
export function sendErrorPage(thrown: unknown, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toPageError(thrown)
  recordError(request, toRequestError(error))
  reportFailure(request, error)
  if (error.retryAfter !== undefined) reply.header('Retry-After', error.retryAfter)
  const messages = error.fieldErrors ? Object.values(error.fieldErrors).flat() : [error.message]
  const page = (
    <Layout title={titles[error.code]} narrow>
      <div class="card">
        {messages.map(message => (
          <p>{message}</p>
        ))}
        <p>
          <a href={adminPath}>{findSignedIn(request) ? 'To the tokens' : 'To the sign-in'}</a>
        </p>
      </div>
    </Layout>
  )
  return sendPage(reply.code(statusOf[error.code]), page)
}
