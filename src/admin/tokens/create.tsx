import { type FieldErrors, throwIfErrors } from '../../domain/errors.ts'
import { createToken } from '../../domain/token/lifecycle.ts'
import { millisecondsPerDay, parseDate } from '../../domain/value/date.ts'
import { Field, FieldGroup, IdempotencyField, readIdempotencyKey } from '../components/field.tsx'
import { Layout } from '../components/layout.tsx'
import { actorOf, type Handler, sendPage } from '../context.ts'
import { findForm, formBody, textField } from '../form-body.ts'
import { loadPicker, readPicker } from '../tenant-picker/state.ts'
import { checkForm, readTokenInput, TokenForm } from './form.tsx'
import { sendSecret } from './secret.tsx'

/** GET /admin/tokens/new */
export const showCreate: Handler = async ({ sql, config }, request, reply) =>
  sendPage(
    reply,
    <Layout title="Create a token" section="tokens" narrow>
      <TokenForm token={null} picker={await loadPicker(sql, findForm(request))} defaultRate={config.rateLimitPerMinute}>
        <IdempotencyField />
        <Expiry />
      </TokenForm>
    </Layout>,
  )

/** POST /admin/tokens/new */
export const create: Handler = async (context, request, reply) => {
  const form = formBody(request)
  const { state, save } = readPicker(form)
  if (!save) return showCreate(context, request, reply)
  const input = readTokenInput(form, state.grants)
  const { expiresAt, fieldErrors } = readExpiry(form)
  throwIfErrors({ ...checkForm(input), ...fieldErrors })
  const key = readIdempotencyKey(form)
  return sendSecret(reply, await createToken(context.sql, actorOf(request), { ...input, expiresAt }, key))
}

const expiries = ['30', '90', '180', '365']

function readExpiry(form: URLSearchParams): { expiresAt: Date | null; fieldErrors: FieldErrors } {
  const [expiry, expiresAt] = [textField(form, 'expiry'), textField(form, 'expiresAt')]
  const invalid = (name: string, message: string) => ({ expiresAt: null, fieldErrors: { [name]: [message] } })
  const valid = (date: Date | null) => ({ expiresAt: date, fieldErrors: {} })
  if (expiry === 'date') {
    if (parseDate(expiresAt) === null) return invalid('expiresAt', 'Give a date.')
    const date = new Date(`${expiresAt}T23:59:59Z`)
    return date.getTime() > Date.now() ? valid(date) : invalid('expiresAt', 'Give a date in the future.')
  }
  if (expiresAt !== '') return invalid('expiresAt', 'Choose “on a date” above, or leave the date empty.')
  if (expiry === 'never') return valid(null)
  if (expiries.includes(expiry)) return valid(new Date(Date.now() + Number(expiry) * millisecondsPerDay))
  return invalid('expiry', 'Choose when the token ends.')
}

const Expiry = () => (
  <FieldGroup legend="End" hint="An end limits the damage of a lost secret. The token can be rotated before it ends.">
    <Field
      name="expiry"
      label="The token ends"
      value="90"
      options={[
        ...expiries.map(days => ({ value: days, label: `in ${days} days` })),
        { value: 'date', label: 'on a date' },
        { value: 'never', label: 'never' },
      ]}
    />
    <Field
      name="expiresAt"
      label="Date"
      type="date"
      hint="Only for “on a date”. The token is valid until the end of that day, UTC."
    />
  </FieldGroup>
)
