import { createEndpoint } from '../../domain/event/endpoint.ts'
import { tokenStatus } from '../../domain/token/token.ts'
import { ErrorSummary, Field, FormError } from '../components/field.tsx'
import { ButtonLink, Layout, PostForm } from '../components/layout.tsx'
import { actorOf, type HandlerById, sendPage } from '../context.ts'
import { formBody, textField } from '../form-body.ts'
import { InactiveTokenPage, loadToken, tokenPath } from '../tokens/parts.tsx'
import { sendSecret } from './parts.tsx'

/** GET /admin/tokens/:id/webhooks */
export const showCreateWebhook: HandlerById = async (context, request, reply) => {
  const token = await loadToken(context, request.params)
  if (tokenStatus(token) !== 'active') {
    return sendPage(reply, <InactiveTokenPage token={token} action="Add a webhook to" />)
  }
  return sendPage(
    reply,
    <Layout title={`Add a webhook to ${token.name}`} section="tokens" narrow>
      <FormError name="token" />
      <ErrorSummary />
      <div class="card">
        <p>
          The service sends an event to the URL within a second of a change of a list that the token may read. An event
          names the list, and holds no record and no personal data. It is repeated until the receiver answers 2xx.
        </p>
      </div>
      <PostForm action={tokenPath(token.id, 'webhooks')}>
        <Field
          name="url"
          label="URL"
          hint="Of the partner’s receiver, for example https://partner.example.com/hooks."
          required
          maxlength={2000}
          autocomplete="off"
        />
        <div class="actions">
          <button type="submit">Add the webhook</button>
          <ButtonLink href={tokenPath(token.id)} label="Cancel" />
        </div>
      </PostForm>
    </Layout>,
  )
}

/** POST /admin/tokens/:id/webhooks */
export const createWebhook: HandlerById = async (context, request, reply) => {
  const { id } = await loadToken(context, request.params)
  const url = textField(formBody(request), 'url')
  const endpoint = await createEndpoint(context.sql, actorOf(request), id, url)
  return sendSecret(context, reply.code(201), 'The webhook is added', endpoint)
}
