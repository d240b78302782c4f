import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FieldErrors } from '../../domain/errors.ts'
import { createToken } from '../../domain/token-lifecycle.ts'
import { adminPath } from '../../http/paths.ts'
import { Choice, Field, Group } from '../components/field.tsx'
import { formIdOf, newFormId, OneTime } from '../components/idempotency-field.tsx'
import { Page, sendPage } from '../components/layout.tsx'
import { actorOf, formOf, viewOf } from '../context.ts'
import { faultsOf, textOf } from '../form-body.ts'
import type { AdminContext } from '../index.ts'
import { freshPicker, type PickerState, readPicker } from '../tenant-picker/state.ts'
import { loadPicker } from '../tenant-picker/tenant-picker.tsx'
import { blankEntry, checkWish, readEntry, type TokenEntry, TokenForm, wishOf } from './form.tsx'
import { answerMaking } from './secret.tsx'

const path = `${adminPath}/tokens/new`

/** When the token is to end, as it stands in the form. */
interface ExpiryEntry {
  /** Days from now, `never`, or `date`. */
  expiry: string
  /** `YYYY-MM-DD` */
  expiresAt: string
}

interface CreateForm {
  formId: string
  entry: TokenEntry
  expiry: ExpiryEntry
  picker: PickerState
}

/** GET /admin/tokens/new */
export const showCreate = (parts: AdminContext, request: FastifyRequest, reply: FastifyReply) =>
  sendForm(parts, request, reply, {
    formId: newFormId(),
    entry: blankEntry,
    expiry: { expiry: '90', expiresAt: '' },
    picker: freshPicker([]),
  })

/** POST /admin/tokens/new */
export async function create(parts: AdminContext, request: FastifyRequest, reply: FastifyReply) {
  const form = formOf(request)
  const { state, save } = readPicker(form)
  const filled: CreateForm = {
    formId: formIdOf(form),
    entry: readEntry(form),
    expiry: { expiry: textOf(form, 'expiry'), expiresAt: textOf(form, 'expiresAt') },
    picker: state,
  }
  if (!save) return sendForm(parts, request, reply, filled)
  const wish = wishOf(filled.entry, state.grants)
  const expiry = readExpiry(filled.expiry)
  const fieldErrors = { ...checkWish(wish), ...expiry.fieldErrors }
  if (Object.keys(fieldErrors).length > 0) return sendForm(parts, request, reply, filled, fieldErrors)
  try {
    const wanted = { ...wish, expiresAt: expiry.at }
    const made = await createToken(parts.sql, actorOf(request), wanted, filled.formId)
    return answerMaking(request, reply, made)
  } catch (error) {
    return sendForm(parts, request, reply, filled, faultsOf(error))
  }
}

const day = 86_400_000
const expiries = ['30', '90', '180', '365']

function readExpiry({ expiry, expiresAt }: ExpiryEntry): { at: Date | null; fieldErrors: FieldErrors } {
  const wrong = (sentence: string) => ({ at: null, fieldErrors: { expiresAt: [sentence] } })
  if (expiry === 'date') {
    const at = new Date(`${expiresAt}T23:59:59Z`)
    if (
      !/^\d{4}-\d\d-\d\d$/.test(expiresAt) ||
      !Number.isFinite(at.getTime()) ||
      !at.toISOString().startsWith(expiresAt)
    ) {
      return wrong('Give a date.')
    }
    return at.getTime() > Date.now() ? { at, fieldErrors: {} } : wrong('Give a date that is still to come.')
  }
  if (expiresAt !== '') return wrong('Choose “on a date” above, or leave the date empty.')
  if (expiry === 'never') return { at: null, fieldErrors: {} }
  if (expiries.includes(expiry)) return { at: new Date(Date.now() + Number(expiry) * day), fieldErrors: {} }
  return { at: null, fieldErrors: { expiry: ['Choose when the token ends.'] } }
}

async function sendForm(
  { sql, config }: AdminContext,
  request: FastifyRequest,
  reply: FastifyReply,
  { formId, entry, expiry, picker }: CreateForm,
  fieldErrors: FieldErrors = {},
) {
  const loaded = await loadPicker(sql, picker)
  const view = viewOf(request, reply)
  return sendPage(
    reply,
    <Page title="Create a token" view={view} place="tokens" narrow>
      <TokenForm
        view={view}
        path={path}
        entry={entry}
        picker={loaded}
        fieldErrors={fieldErrors}
        defaultRate={config.rateLimitPerMinute}
        verb="Create the token"
        leave={`${adminPath}/tokens`}
      >
        <OneTime id={formId} />
        <Expiry expiry={expiry} fieldErrors={fieldErrors} />
      </TokenForm>
    </Page>,
    Object.keys(fieldErrors).length > 0 ? 422 : 200,
  )
}

function Expiry({ expiry, fieldErrors }: { expiry: ExpiryEntry; fieldErrors: FieldErrors }) {
  return (
    <Group legend="End" hint="A token that ends limits what a lost secret can do. It can be rotated before.">
      <Choice
        name="expiry"
        label="The token ends"
        fieldErrors={fieldErrors}
        value={expiry.expiry}
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
        hint="For “on a date” alone. The token holds until the end of that day, UTC."
        value={expiry.expiresAt}
        fieldErrors={fieldErrors}
      />
    </Group>
  )
}
