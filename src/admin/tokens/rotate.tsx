import { type FieldErrors, throwIfErrors } from '../../domain/errors.ts'
import { rotateToken } from '../../domain/token/rotation.ts'
import { type TokenRecord, tokenStatus } from '../../domain/token/token.ts'
import { ErrorSummary, Field, FormError, IdempotencyField, readIdempotencyKey } from '../components/field.tsx'
import { formatTimestamp, Timestamp } from '../components/format.tsx'
import { ButtonLink, Layout, PostForm } from '../components/layout.tsx'
import { actorOf, type HandlerById, sendPage } from '../context.ts'
import { formBody, textField } from '../form-body.ts'
import { InactiveTokenPage, loadToken, sendSecret, tokenPath } from './parts.tsx'

const secondsPerHour = 3600
const secondsPerDay = 24 * secondsPerHour

/** The times to choose from for which the old token stays valid besides the new token, in seconds. */
const overlaps = [
  { value: '0', label: 'no time: the old one is rejected within a second' },
  { value: String(secondsPerHour), label: '1 hour' },
  { value: String(secondsPerDay), label: '24 hours' },
  { value: String(7 * secondsPerDay), label: '7 days' },
]

/** GET /admin/tokens/:id/rotate */
export const showRotate: HandlerById = async (context, request, reply) => {
  const token = await loadToken(context, request.params)
  if (token.rotatedTo !== null) return sendPage(reply, <AlreadyReplaced token={token} successor={token.rotatedTo} />)
  if (tokenStatus(token) !== 'active') return sendPage(reply, <InactiveTokenPage token={token} action="Rotate" />)
  return sendPage(
    reply,
    <Layout title={`Rotate ${token.name}`} section="tokens" narrow>
      <FormError name="token" />
      <ErrorSummary />
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
      <PostForm action={tokenPath(token.id, 'rotate')}>
        <IdempotencyField />
        <Field name="overlap" label="Both are valid for" options={overlaps} value={String(secondsPerDay)} />
        <Field name="expiresAt" label="The new token ends" options={expiriesFor(token)} value="inherit" />
        <div class="actions">
          <button type="submit">Rotate the token</button>
          <ButtonLink href={tokenPath(token.id)} label="Cancel" />
        </div>
      </PostForm>
    </Layout>,
  )
}

/** POST /admin/tokens/:id/rotate */
export const rotate: HandlerById = async (context, request, reply) => {
  const token = await loadToken(context, request.params)
  const form = formBody(request)
  const rotation = readRotation(token, form)
  const key = readIdempotencyKey(form)
  return sendSecret(reply, await rotateToken(context.sql, actorOf(request), token.id, rotation, key))
}

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
function readRotation(token: TokenRecord, form: URLSearchParams) {
  const [overlap, expiry] = [textField(form, 'overlap'), textField(form, 'expiresAt')]
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

const AlreadyReplaced = ({ token, successor }: { token: TokenRecord; successor: number }) => (
  <Layout title={`Rotate ${token.name}`} section="tokens" narrow>
    <p class="warning">
      <a href={tokenPath(successor)}>Token {successor}</a> already replaces this token: rotate that one.
    </p>
  </Layout>
)
