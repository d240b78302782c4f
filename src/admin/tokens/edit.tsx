import type { FastifyReply, FastifyRequest } from 'fastify'
import type { FieldErrors } from '../../domain/errors.ts'
import { parseIdentifier } from '../../domain/identifier.ts'
import { type TokenRecord, tokenStatus } from '../../domain/token.ts'
import { editToken } from '../../domain/token-lifecycle.ts'
import { Page, sendPage } from '../components/layout.tsx'
import { actorOf, formOf, say, viewOf } from '../context.ts'
import { faultsOf, textOf } from '../form-body.ts'
import type { AdminContext } from '../index.ts'
import { freshPicker, type PickerState, readPicker } from '../tenant-picker/state.ts'
import { loadPicker } from '../tenant-picker/tenant-picker.tsx'
import { checkWish, entryOf, readEntry, type TokenEntry, TokenForm, wishOf } from './form.tsx'
import { NoLonger, type TokenRequest, tokenOf, tokenPath } from './parts.tsx'

interface EditForm {
  entry: TokenEntry
  picker: PickerState
  /** The revision of the token that the form began with; null when the form names none. */
  revision: number | null
}

/** GET /admin/tokens/:id/edit */
export async function showEdit(parts: AdminContext, request: TokenRequest, reply: FastifyReply) {
  const token = await tokenOf(parts, request)
  const { revision, tenants } = token
  if (tokenStatus(token) !== 'active') {
    return sendPage(reply, <NoLonger view={viewOf(request, reply)} token={token} title="Edit" />)
  }
  return sendForm(parts, request, reply, token, { entry: entryOf(token), picker: freshPicker(tenants), revision })
}

/** POST /admin/tokens/:id/edit */
export async function edit(parts: AdminContext, request: TokenRequest, reply: FastifyReply) {
  const token = await tokenOf(parts, request)
  const form = formOf(request)
  const { state, save } = readPicker(form)
  const filled: EditForm = {
    entry: readEntry(form),
    picker: state,
    revision: parseIdentifier(textOf(form, 'revision')),
  }
  if (!save) return sendForm(parts, request, reply, token, filled)
  const wish = wishOf(filled.entry, state.grants)
  const fieldErrors = checkWish(wish)
  if (Object.keys(fieldErrors).length > 0) return sendForm(parts, request, reply, token, filled, fieldErrors)
  try {
    await editToken(parts.sql, actorOf(request), token.id, filled.revision, wish)
  } catch (error) {
    return sendForm(parts, request, reply, token, filled, faultsOf(error))
  }
  say(request, 'The token is saved. Every instance heeds it within a second.')
  return reply.redirect(tokenPath(token.id), 303)
}

async function sendForm(
  { sql, config }: AdminContext,
  request: FastifyRequest,
  reply: FastifyReply,
  token: TokenRecord,
  { entry, picker, revision }: EditForm,
  { revision: changedSince, ...fieldErrors }: FieldErrors = {},
) {
  const loaded = await loadPicker(sql, picker)
  const view = viewOf(request, reply)
  const path = tokenPath(token.id, 'edit')
  return sendPage(
    reply,
    <Page title={`Edit ${token.name}`} view={view} place="tokens" narrow>
      {changedSince && (
        <div class="field-errors" role="alert">
          <p>
            {changedSince.join(' ')} <a href={path}>Load it anew</a>, which drops what you have entered here.
          </p>
        </div>
      )}
      <TokenForm
        view={view}
        path={path}
        entry={entry}
        picker={loaded}
        fieldErrors={fieldErrors}
        defaultRate={config.rateLimitPerMinute}
        verb="Save the token"
        leave={tokenPath(token.id)}
      >
        <input type="hidden" name="revision" value={revision ?? ''} />
      </TokenForm>
    </Page>,
    changedSince || Object.keys(fieldErrors).length > 0 ? 422 : 200,
  )
}
