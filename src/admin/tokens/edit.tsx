import type { FastifyReply } from 'fastify'
import { type FieldErrors, throwIfErrors } from '../../domain/errors.ts'
import { parseIdentifier } from '../../domain/record/identifier.ts'
import { editToken } from '../../domain/token/lifecycle.ts'
import { type TokenRecord, tokenStatus } from '../../domain/token/token.ts'
import { Layout, useRequestContext } from '../components/layout.tsx'
import { type AdminContext, actorOf, type HandlerById, redirectWithFlash, sendPage } from '../context.ts'
import { fieldErrorsOf, formBody, textField } from '../form-body.ts'
import { loadPicker } from '../tenant-picker/load.ts'
import { createPickerState, type PickerState, readPicker } from '../tenant-picker/state.ts'
import { checkForm, readTokenInput, TokenForm } from './form.tsx'
import { NotActive, tokenOf, tokenPath } from './parts.tsx'

/** GET /admin/tokens/:id/edit */
export const showEdit: HandlerById = async (context, request, reply) => {
  const token = await tokenOf(context, request.params)
  if (tokenStatus(token) !== 'active') return sendPage(reply, <NotActive token={token} action="Edit" />)
  return sendForm(context, reply, token, createPickerState(token.tenants))
}

/** POST /admin/tokens/:id/edit */
export const edit: HandlerById = async (context, request, reply) => {
  const token = await tokenOf(context, request.params)
  const form = formBody(request)
  const { state: picker, save } = readPicker(form)
  if (!save) return sendForm(context, reply, token, picker)
  try {
    const input = readTokenInput(form, picker.grants)
    throwIfErrors(checkForm(input))
    await editToken(context.sql, actorOf(request), token.id, parseIdentifier(textField(form, 'revision')), input)
  } catch (error) {
    return sendForm(context, reply.code(422), token, picker, fieldErrorsOf(error))
  }
  const message = 'The token is saved. All instances of the service apply it within a second.'
  return redirectWithFlash(reply, tokenPath(token.id), message)
}

async function sendForm(
  { sql, config }: AdminContext,
  reply: FastifyReply,
  token: TokenRecord,
  picker: PickerState,
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
        token={token}
        picker={await loadPicker(sql, picker)}
        defaultRate={config.rateLimitPerMinute}
        submitLabel="Save the token"
        cancelPath={tokenPath(token.id)}
      >
        <Revision of={token} />
      </TokenForm>
    </Layout>
  )
  return sendPage(reply, page, fieldErrors)
}

/** The revision of the token that the form was loaded with: another change since then rejects this one. */
const Revision = ({ of: { revision } }: { of: TokenRecord }) => (
  <input type="hidden" name="revision" value={useRequestContext().posted?.get('revision') ?? revision} />
)
