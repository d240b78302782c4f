import type { FastifyReply } from 'fastify'
import { type FieldErrors, hasErrors, throwIfErrors } from '../../domain/errors.ts'
import { type TokenRecord, tokenStatus } from '../../domain/token.ts'
import { rotateToken } from '../../domain/token-rotation.ts'
import { ErrorSummary, Select } from '../components/field.tsx'
import { formatTimestamp } from '../components/format.ts'
import { createIdempotencyKey, IdempotencyField, readIdempotencyKey } from '../components/idempotency-field.tsx'
import { CsrfField, Layout } from '../components/layout.tsx'
import { Timestamp } from '../components/timestamp.tsx'
import { type AdminContext, actorOf, type RequestById, sendPage } from '../context.ts'
import { fieldErrorsOf, formBody, textField } from '../form-body.ts'
import { NotActive, tokenOf, tokenPath } from './parts.tsx'
import { sendSecret } from './secret.tsx'

const secondsPerHour = 3600
const secondsPerDay = 24 * secondsPerHour

/** How long both tokens are valid, in seconds. */
const overlaps = [
  { value: '0', label: 'no time: the old one is rejected within a second' },
  { value: String(secondsPerHour), label: '1 hour' },
  { value: String(secondsPerDay), label: '24 hours' },
  { value: String(7 * secondsPerDay), label: '7 days' },
]

interface RotateForm {
  idempotencyKey: string
  overlap: string
  expiry: string
}

/** GET /admin/tokens/:id/rotate */
export const showRotate = (context: AdminContext) => async (request: RequestById, reply: FastifyReply) => {
  const token = await tokenOf(context, request)
  const form = { idempotencyKey: createIdempotencyKey(), overlap: String(secondsPerDay), expiry: 'inherit' }
  return sendForm(request, reply, token, form)
}

/** POST /admin/tokens/:id/rotate */
export const rotate = (context: AdminContext) => async (request: RequestById, reply: FastifyReply) => {
  const token = await tokenOf(context, request)
  const body = formBody(request)
  const idempotencyKey = readIdempotencyKey(body)
  const form = { idempotencyKey, overlap: textField(body, 'overlap'), expiry: textField(body, 'expiresAt') }
  try {
    const rotation = readRotation(token, form)
    return sendSecret(
      request,
      reply,
      await rotateToken(context.sql, actorOf(request), token.id, rotation, idempotencyKey),
    )
  } catch (error) {
    return sendForm(request, reply, await tokenOf(context, request), form, fieldErrorsOf(error))
  }
}

/** @returns the choices of when the new token ends */
function expiriesFor({ expiresAt }: TokenRecord) {
  return [
    {
      value: 'inherit',
      label: expiresAt ? `like the old one, ${formatTimestamp(expiresAt)}` : 'never, like the old one',
    },
    { value: '90', label: 'in 90 days' },
    { value: '365', label: 'in 365 days' },
    ...(expiresAt ? [{ value: 'never', label: 'never' }] : []),
  ]
}

/** @throws `BAD_USER_INPUT` with the errors of `overlap` and `expiresAt` */
function readRotation(token: TokenRecord, { overlap, expiry }: RotateForm) {
  const fieldErrors: FieldErrors = {}
  if (!overlaps.some(({ value }) => value === overlap)) fieldErrors.overlap = ['Choose how long both are valid.']
  if (!expiriesFor(token).some(({ value }) => value === expiry))
    fieldErrors.expiresAt = ['Choose when the new token ends.']
  throwIfErrors(fieldErrors)
  const expiresAt = new Date(Date.now() + Number(expiry) * secondsPerDay * 1000)
  return {
    overlap: Number(overlap),
    expiresAt: expiry === 'inherit' ? expiry : expiry === 'never' ? null : expiresAt,
  } as const
}

function sendForm(
  request: RequestById,
  reply: FastifyReply,
  token: TokenRecord,
  form: RotateForm,
  errors: FieldErrors = {},
) {
  const page =
    token.rotatedTo !== null ? (
      <Layout title={`Rotate ${token.name}`} section="tokens" narrow>
        <p class="warning">
          <a href={tokenPath(token.rotatedTo)}>Token {token.rotatedTo}</a> already replaces this token: rotate that one.
        </p>
      </Layout>
    ) : tokenStatus(token) === 'active' ? (
      <RotatePage token={token} form={form} errors={errors} />
    ) : (
      <NotActive token={token} action="Rotate" />
    )
  return sendPage(request, reply, page, hasErrors(errors) ? 422 : 200)
}

function RotatePage({ token, form, errors }: { token: TokenRecord; form: RotateForm; errors: FieldErrors }) {
  const { token: tokenErrors, ...fieldErrors } = errors
  return (
    <Layout title={`Rotate ${token.name}`} section="tokens" narrow>
      {tokenErrors && (
        <p class="error-summary" role="alert">
          {tokenErrors.join(' ')}
        </p>
      )}
      <ErrorSummary fieldErrors={fieldErrors} />
      <div class="card">
        <p>
          A new token replaces <code>{token.hint}</code>. It has the same name, contact, tenants, permissions and rate,
          and a new secret, which is shown only once.
        </p>
        <p>During the overlap both are valid, so that the partner can switch. Then the old one is rejected.</p>
        {token.expiresAt && (
          <p>
            The old one ends on <Timestamp at={token.expiresAt} /> at the latest, even during the overlap.
          </p>
        )}
      </div>
      <form method="post" action={tokenPath(token.id, 'rotate')}>
        <CsrfField />
        <IdempotencyField value={form.idempotencyKey} />
        <Select
          name="overlap"
          label="Both are valid for"
          options={overlaps}
          value={form.overlap}
          fieldErrors={fieldErrors}
        />
        <Select
          name="expiresAt"
          label="The new token ends"
          options={expiriesFor(token)}
          value={form.expiry}
          fieldErrors={fieldErrors}
        />
        <div class="actions">
          <button type="submit">Rotate the token</button>
          <a class="button secondary" href={tokenPath(token.id)}>
            Cancel
          </a>
        </div>
      </form>
    </Layout>
  )
}
