import type { FastifyReply } from 'fastify'
import { type FieldErrors, throwIfErrors } from '../../domain/errors.ts'
import { millisecondsPerDay } from '../../domain/record/date.ts'
import { createToken } from '../../domain/token/lifecycle.ts'
import { Field, FieldGroup } from '../components/field.tsx'
import { createIdempotencyKey, IdempotencyField, readIdempotencyKey } from '../components/idempotency-field.tsx'
import { Layout } from '../components/layout.tsx'
import { type AdminContext, actorOf, type Handler, sendPage } from '../context.ts'
import { fieldErrorsOf, formBody, textField } from '../form-body.ts'
import { loadPicker } from '../tenant-picker/load.ts'
import { createPickerState, type PickerState, readPicker } from '../tenant-picker/state.ts'
import { checkForm, emptyValues, readValues, TokenForm, type TokenFormValues, toTokenInput } from './form.tsx'
import { tokensPath } from './parts.tsx'
import { sendSecret } from './secret.tsx'

const path = `${tokensPath}/new`

/** The end of the token, as entered. */
interface ExpiryValues {
  /** A number of days from now, `never`, or `date`. */
  expiry: string
  /** `YYYY-MM-DD` */
  expiresAt: string
}

interface CreateForm {
  idempotencyKey: string
  values: TokenFormValues
  expiry: ExpiryValues
  picker: PickerState
}

/** GET /admin/tokens/new */
export const showCreate: Handler = (context, _request, reply) =>
  sendForm(context, reply, {
    idempotencyKey: createIdempotencyKey(),
    values: emptyValues,
    expiry: { expiry: '90', expiresAt: '' },
    picker: createPickerState([]),
  })

/** POST /admin/tokens/new */
export const create: Handler = async (context, request, reply) => {
  const body = formBody(request)
  const { state: picker, save } = readPicker(body)
  const idempotencyKey = readIdempotencyKey(body)
  const values = readValues(body)
  const expiry = { expiry: textField(body, 'expiry'), expiresAt: textField(body, 'expiresAt') }
  const form = { idempotencyKey, values, expiry, picker }
  if (!save) return sendForm(context, reply, form)
  try {
    const input = toTokenInput(values, picker.grants)
    const { expiresAt, fieldErrors } = readExpiry(expiry)
    throwIfErrors({ ...checkForm(input), ...fieldErrors })
    const token = await createToken(context.sql, actorOf(request), { ...input, expiresAt }, idempotencyKey)
    return sendSecret(reply, token)
  } catch (error) {
    return sendForm(context, reply, form, fieldErrorsOf(error))
  }
}

const expiries = ['30', '90', '180', '365']

function readExpiry({ expiry, expiresAt }: ExpiryValues): { expiresAt: Date | null; fieldErrors: FieldErrors } {
  const invalid = (name: keyof ExpiryValues, message: string) => ({
    expiresAt: null,
    fieldErrors: { [name]: [message] },
  })
  const valid = (date: Date | null) => ({ expiresAt: date, fieldErrors: {} })
  if (expiry === 'date') {
    const date = new Date(`${expiresAt}T23:59:59Z`)
    const isDate = /^\d{4}-\d\d-\d\d$/.test(expiresAt) && Number.isFinite(date.getTime())
    if (!isDate || !date.toISOString().startsWith(expiresAt)) return invalid('expiresAt', 'Give a date.')
    return date.getTime() > Date.now() ? valid(date) : invalid('expiresAt', 'Give a date in the future.')
  }
  if (expiresAt !== '') return invalid('expiresAt', 'Choose “on a date” above, or leave the date empty.')
  if (expiry === 'never') return valid(null)
  if (expiries.includes(expiry)) return valid(new Date(Date.now() + Number(expiry) * millisecondsPerDay))
  return invalid('expiry', 'Choose when the token ends.')
}

async function sendForm(
  { sql, config }: AdminContext,
  reply: FastifyReply,
  { idempotencyKey, values, expiry, picker }: CreateForm,
  fieldErrors?: FieldErrors,
) {
  const page = (
    <Layout title="Create a token" section="tokens" narrow>
      <TokenForm
        path={path}
        values={values}
        picker={await loadPicker(sql, picker)}
        defaultRate={config.rateLimitPerMinute}
        submitLabel="Create the token"
        cancelPath={tokensPath}
      >
        <IdempotencyField value={idempotencyKey} />
        <Expiry expiry={expiry} />
      </TokenForm>
    </Layout>
  )
  return sendPage(reply, page, fieldErrors)
}

const Expiry = ({ expiry: { expiry, expiresAt } }: { expiry: ExpiryValues }) => (
  <FieldGroup legend="End" hint="An end limits the damage of a lost secret. The token can be rotated before it ends.">
    <Field
      name="expiry"
      label="The token ends"
      value={expiry}
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
      value={expiresAt}
    />
  </FieldGroup>
)
