import type { FastifyReply, FastifyRequest } from 'fastify'
import { badInput, type FieldErrors } from '../../domain/errors.ts'
import { type TokenRecord, tokenStatus } from '../../domain/token.ts'
import { rotateToken } from '../../domain/token-rotation.ts'
import { Choice, FaultSummary } from '../components/field.tsx'
import { formIdOf, newFormId, OneTime } from '../components/idempotency-field.tsx'
import { CsrfToken, Page, sendPage } from '../components/layout.tsx'
import { Moment, momentText } from '../components/timestamp.tsx'
import { actorOf, formOf, viewOf } from '../context.ts'
import { faultsOf, textOf } from '../form-body.ts'
import type { AdminContext } from '../index.ts'
import { NoLonger, type TokenRequest, tokenOf, tokenPath } from './parts.tsx'
import { answerMaking } from './secret.tsx'

const hour = 3600
const day = 24 * hour

/** How long both tokens hold, in seconds. */
const overlaps = [
  { value: '0', label: 'not at all: the old one is refused within a second' },
  { value: String(hour), label: '1 hour' },
  { value: String(day), label: '24 hours' },
  { value: String(7 * day), label: '7 days' },
]

interface RotateForm {
  formId: string
  overlap: string
  expiry: string
}

/** GET /admin/tokens/:id/rotate */
export async function showRotate(parts: AdminContext, request: TokenRequest, reply: FastifyReply) {
  const token = await tokenOf(parts, request)
  return sendForm(request, reply, token, { formId: newFormId(), overlap: String(day), expiry: 'inherit' })
}

/** POST /admin/tokens/:id/rotate */
export async function rotate(parts: AdminContext, request: TokenRequest, reply: FastifyReply) {
  const token = await tokenOf(parts, request)
  const form = formOf(request)
  const filled = { formId: formIdOf(form), overlap: textOf(form, 'overlap'), expiry: textOf(form, 'expiresAt') }
  try {
    const rotation = readRotation(token, filled)
    const made = await rotateToken(parts.sql, actorOf(request), token.id, rotation, filled.formId)
    return answerMaking(request, reply, made)
  } catch (error) {
    return sendForm(request, reply, await tokenOf(parts, request), filled, faultsOf(error))
  }
}

/** When the new token may end. */
function expiriesFor({ expiresAt }: TokenRecord) {
  return [
    {
      value: 'inherit',
      label: expiresAt ? `as the old one would, ${momentText(expiresAt)}` : 'never, as the old one would',
    },
    { value: '90', label: 'in 90 days' },
    { value: '365', label: 'in 365 days' },
    ...(expiresAt ? [{ value: 'never', label: 'never' }] : []),
  ]
}

/** @throws `BAD_USER_INPUT` with the errors of `overlap` and `expiresAt` */
function readRotation(token: TokenRecord, { overlap, expiry }: RotateForm) {
  const fieldErrors: FieldErrors = {}
  if (!overlaps.some(({ value }) => value === overlap)) fieldErrors.overlap = ['Choose how long both hold.']
  if (!expiriesFor(token).some(({ value }) => value === expiry))
    fieldErrors.expiresAt = ['Choose when the new one ends.']
  if (Object.keys(fieldErrors).length > 0) throw badInput(fieldErrors)
  const expiresAt = new Date(Date.now() + Number(expiry) * day * 1000)
  return {
    overlap: Number(overlap),
    expiresAt: expiry === 'inherit' ? expiry : expiry === 'never' ? null : expiresAt,
  } as const
}

function sendForm(
  request: FastifyRequest,
  reply: FastifyReply,
  token: TokenRecord,
  { formId, overlap, expiry }: RotateForm,
  { token: refused, ...fieldErrors }: FieldErrors = {},
) {
  const view = viewOf(request, reply)
  const title = `Rotate ${token.name}`
  const status = refused || Object.keys(fieldErrors).length > 0 ? 422 : 200
  if (token.rotatedTo !== null) {
    return sendPage(
      reply,
      <Page title={title} view={view} place="tokens" narrow>
        <p class="warning">
          <a href={tokenPath(token.rotatedTo)}>Token {token.rotatedTo}</a> has taken its place already: rotate that one.
        </p>
      </Page>,
      status,
    )
  }
  if (tokenStatus(token) !== 'active') {
    return sendPage(reply, <NoLonger view={view} token={token} title="Rotate" />, status)
  }
  return sendPage(
    reply,
    <Page title={title} view={view} place="tokens" narrow>
      {refused && (
        <p class="field-errors" role="alert">
          {refused.join(' ')}
        </p>
      )}
      <FaultSummary fieldErrors={fieldErrors} />
      <div class="card">
        <p>
          A new token takes the place of <code>{token.hint}</code>. It has the same name, contact, tenants, permissions
          and rate, and a secret of its own, which you are shown once.
        </p>
        <p>For the overlap both hold, so that the partner can change over. Then the old one is refused.</p>
        {token.expiresAt && (
          <p>
            The old one ends on <Moment at={token.expiresAt} /> in any case, even where the overlap would last longer.
          </p>
        )}
      </div>
      <form method="post" action={tokenPath(token.id, 'rotate')}>
        <CsrfToken view={view} />
        <OneTime id={formId} />
        <Choice name="overlap" label="Both hold for" options={overlaps} value={overlap} fieldErrors={fieldErrors} />
        <Choice
          name="expiresAt"
          label="The new token ends"
          options={expiriesFor(token)}
          value={expiry}
          fieldErrors={fieldErrors}
        />
        <div class="actions">
          <button type="submit">Rotate the token</button>
          <a class="button plain" href={tokenPath(token.id)}>
            Cancel
          </a>
        </div>
      </form>
    </Page>,
    status,
  )
}
