// The actions of a webhook's page.
import { setTimeout as pause } from 'node:timers/promises'
import { badInput } from '../../domain/errors.ts'
import {
  deleteEndpoint,
  pauseEndpoint,
  replayEndpoint,
  resumeEndpoint,
  rotateSecret,
} from '../../domain/event/endpoint.ts'
import { parseIdentifier } from '../../domain/value/identifier.ts'
import { instantMessage, parseInstant } from '../../domain/value/instant.ts'
import { Facts } from '../../pages/facts.tsx'
import { describeOutcome } from '../../webhook/describe.ts'
import { ConfirmForm, Layout } from '../components/layout.tsx'
import { actorOf, type HandlerById, redirectWithFlash, sendPage } from '../context.ts'
import { formBody, textField } from '../form-body.ts'
import { tokenPath } from '../tokens/parts.tsx'
import { endpointOf, StateBadge, sendSecret, webhookPath } from './parts.tsx'

/** The longest wait for the outcome of a test, in milliseconds: the request has to be answered before its deadline. */
const testTimeoutMs = 3_000

/** POST /admin/webhooks/:id/test */
export const test: HandlerById = async (context, request, reply) => {
  const endpoint = await endpointOf(context, request.params)
  const sent = context.webhooks.sendTest(actorOf(request), endpoint)
  const answer = await Promise.race([sent, pause(testTimeoutMs, null, { ref: false })])
  const outcome = answer ? describeOutcome(answer) : 'No answer yet: in 15 seconds at most, it is among the deliveries.'
  return redirectWithFlash(reply, webhookPath(endpoint.id), `The test was sent. ${outcome}`)
}

/** POST /admin/webhooks/:id/pause */
export const pauseWebhook: HandlerById = async (context, request, reply) => {
  const { id } = await endpointOf(context, request.params)
  await pauseEndpoint(context.sql, actorOf(request), id)
  return redirectWithFlash(
    reply,
    webhookPath(id),
    'The webhook is paused. What changes now is sent when it is resumed.',
  )
}

/** POST /admin/webhooks/:id/resume */
export const resumeWebhook: HandlerById = async (context, request, reply) => {
  const { id } = await endpointOf(context, request.params)
  await resumeEndpoint(context.sql, actorOf(request), id)
  return redirectWithFlash(reply, webhookPath(id), 'The webhook is resumed. What has waited is sent now.')
}

/** POST /admin/webhooks/:id/replay */
export const replay: HandlerById = async (context, request, reply) => {
  const { id } = await endpointOf(context, request.params)
  const form = formBody(request)
  const from = parseInstant(textField(form, 'from'))
  if (from === null) throw badInput({ from: [instantMessage] })
  await replayEndpoint(context.sql, actorOf(request), id, from, revisionOf(form))
  return redirectWithFlash(reply, webhookPath(id), 'Changes since that time are sent again.')
}

/** POST /admin/webhooks/:id/rotate */
export const rotate: HandlerById = async (context, request, reply) => {
  const { id } = await endpointOf(context, request.params)
  const endpoint = await rotateSecret(context.sql, actorOf(request), id, revisionOf(formBody(request)))
  return sendSecret(context, reply, 'The secret is rotated', endpoint)
}

/** Returns the revision that the form was loaded with; a form without a revision matches no endpoint. */
const revisionOf = (form: URLSearchParams): number => parseIdentifier(textField(form, 'revision')) ?? 0

/** GET /admin/webhooks/:id/delete */
export const showDelete: HandlerById = async (context, request, reply) => {
  const endpoint = await endpointOf(context, request.params)
  const path = webhookPath(endpoint.id)
  return sendPage(
    reply,
    <Layout title={`Delete webhook ${endpoint.id}?`} section="tokens" narrow>
      <div class="card danger-zone">
        <p>Nothing more is sent to the URL, and the log of its deliveries is deleted. This cannot be undone.</p>
        <Facts facts={{ URL: <code>{endpoint.url}</code>, State: <StateBadge endpoint={endpoint} /> }} />
      </div>
      <ConfirmForm action={webhookPath(endpoint.id, 'delete')} confirm="Delete the webhook" cancelPath={path} />
    </Layout>,
  )
}

/** POST /admin/webhooks/:id/delete */
export const deleteWebhook: HandlerById = async (context, request, reply) => {
  const { id, tokenId } = await endpointOf(context, request.params)
  await deleteEndpoint(context.sql, actorOf(request), id)
  return redirectWithFlash(reply, tokenPath(tokenId), `Webhook ${id} is deleted.`)
}
