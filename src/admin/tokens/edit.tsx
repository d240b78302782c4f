import { throwIfErrors } from '../../domain/errors.ts'
import { editToken } from '../../domain/token/lifecycle.ts'
import { type TokenRecord, tokenStatus } from '../../domain/token/token.ts'
import { parseIdentifier } from '../../domain/value/identifier.ts'
import { FormError } from '../components/field.tsx'
import { Layout, useRequestContext } from '../components/layout.tsx'
import { actorOf, type HandlerById, redirectWithFlash, sendPage } from '../context.ts'
import { findForm, formBody, textField } from '../form-body.ts'
import { loadPicker, readPicker } from '../tenant-picker/state.ts'
import { checkForm, readTokenInput, TokenForm } from './form.tsx'
import { InactiveTokenPage, tokenOf, tokenPath } from './parts.tsx'

/** GET /admin/tokens/:id/edit */
export const showEdit: HandlerById = async (context, request, reply) => {
  const token = await tokenOf(context, request.params)
  if (tokenStatus(token) !== 'active') return sendPage(reply, <InactiveTokenPage token={token} action="Edit" />)
  return sendPage(
    reply,
    <Layout title={`Edit ${token.name}`} section="tokens" narrow>
      <FormError name="revision">
        <a href={tokenPath(token.id, 'edit')}>Reload the form</a>, which discards what you have entered here.
      </FormError>
      <TokenForm
        token={token}
        picker={await loadPicker(context.sql, findForm(request), token.tenants)}
        defaultRate={context.config.rateLimitPerMinute}
      >
        <Revision of={token} />
      </TokenForm>
    </Layout>,
  )
}

/** POST /admin/tokens/:id/edit */
export const edit: HandlerById = async (context, request, reply) => {
  const { id } = await tokenOf(context, request.params)
  const form = formBody(request)
  const { state, save } = readPicker(form)
  if (!save) return showEdit(context, request, reply)
  const input = readTokenInput(form, state.grants)
  throwIfErrors(checkForm(input))
  await editToken(context.sql, actorOf(request), id, parseIdentifier(textField(form, 'revision')), input)
  return redirectWithFlash(
    reply,
    tokenPath(id),
    'The token is saved. All instances of the service apply it within a second.',
  )
}

/** The revision of the token when the form was loaded. The form is rejected when the token has changed since then. */
const Revision = ({ of: { revision } }: { of: TokenRecord }) => (
  <input type="hidden" name="revision" value={useRequestContext().posted?.get('revision') ?? revision} />
)
