import type { FastifyReply } from 'fastify'
import { type FieldErrors, hasErrors, throwIfErrors } from '../../domain/errors.ts'
import { parseIdentifier } from '../../domain/identifier.ts'
import { type TokenRecord, tokenStatus } from '../../domain/token.ts'
import { editToken } from '../../domain/token-lifecycle.ts'
import { Layout } from '../components/layout.tsx'
import { type AdminContext, actorOf, type RequestById, redirectWithFlash, sendPage } from '../context.ts'
import { fieldErrorsOf, formBody, textField } from '../form-body.ts'
import { createPickerState, type PickerState, readPicker } from '../tenant-picker/state.ts'
import { loadPicker } from '../tenant-picker/tenant-picker.tsx'
import { checkForm, readValues, TokenForm, type TokenFormValues, toTokenInput, valuesOf } from './form.tsx'
import { NotActive, tokenOf, tokenPath } from './parts.tsx'

interface EditForm {
  values: TokenFormValues
  picker: PickerState
  /** The revision of the token that the form was loaded with; null when the form has none. */
  revision: number | null
}

/** GET /admin/tokens/:id/edit */
export const showEdit = (context: AdminContext) => async (request: RequestById, reply: FastifyReply) => {
  const token = await tokenOf(context, request)
  const { revision, tenants } = token
  if (tokenStatus(token) !== 'active') return sendPage(request, reply, <NotActive token={token} action="Edit" />)
  const form = { values: valuesOf(token), picker: createPickerState(tenants), revision }
  return sendForm(context, request, reply, token, form)
}

/** POST /admin/tokens/:id/edit */
export const edit = (context: AdminContext) => async (request: RequestById, reply: FastifyReply) => {
  const token = await tokenOf(context, request)
  const body = formBody(request)
  const { state: picker, save } = readPicker(body)
  const form = { values: readValues(body), picker, revision: parseIdentifier(textField(body, 'revision')) }
  if (!save) return sendForm(context, request, reply, token, form)
  try {
    const input = toTokenInput(form.values, picker.grants)
    throwIfErrors(checkForm(input))
    await editToken(context.sql, actorOf(request), token.id, form.revision, input)
  } catch (error) {
    return sendForm(context, request, reply, token, form, fieldErrorsOf(error))
  }
  const message = 'The token is saved. All instances of the service apply it within a second.'
  return redirectWithFlash(request, reply, tokenPath(token.id), message)
}

async function sendForm(
  { sql, config }: AdminContext,
  request: RequestById,
  reply: FastifyReply,
  token: TokenRecord,
  { values, picker, revision }: EditForm,
  errors: FieldErrors = {},
) {
  const { revision: revisionErrors, ...fieldErrors } = errors
  const path = tokenPath(token.id, 'edit')
  const page = (
    <Layout title={`Edit ${token.name}`} section="tokens" narrow>
      {revisionErrors && (
        <div class="error-summary" role="alert">
          <p>
            {revisionErrors.join(' ')} <a href={path}>Reload the form</a>, which discards what you have entered here.
          </p>
        </div>
      )}
      <TokenForm
        path={path}
        values={values}
        picker={await loadPicker(sql, picker)}
        fieldErrors={fieldErrors}
        defaultRate={config.rateLimitPerMinute}
        submitLabel="Save the token"
        cancelPath={tokenPath(token.id)}
      >
        <input type="hidden" name="revision" value={revision ?? ''} />
      </TokenForm>
    </Layout>
  )
  return sendPage(request, reply, page, hasErrors(errors) ? 422 : 200)
}
