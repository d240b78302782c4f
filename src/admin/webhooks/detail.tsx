import { setTimeout as pause } from 'node:timers/promises'
import { badInput } from '../../domain/errors.ts'
import { type Delivery, listDeliveries } from '../../domain/event/delivery.ts'
import {
  deleteEndpoint,
  type Endpoint,
  endpointState,
  pauseEndpoint,
  replayEndpoint,
  resumeEndpoint,
  rotateSecret,
} from '../../domain/event/endpoint.ts'
import { parseIdentifier } from '../../domain/value/identifier.ts'
import { instantMessage, parseInstant } from '../../domain/value/instant.ts'
import { Facts } from '../../pages/facts.tsx'
import { describeLag, describeOutcome } from '../../webhook/describe.ts'
import { ErrorSummary, Field, FormError } from '../components/field.tsx'
import { formatCount, Timestamp } from '../components/format.tsx'
import { ButtonLink, ConfirmForm, Layout, PostForm, Section } from '../components/layout.tsx'
import { type Column, Table } from '../components/table.tsx'
import { actorOf, type HandlerById, redirectWithFlash, sendPage } from '../context.ts'
import { formBody, textField } from '../form-body.ts'
import { tokenPath } from '../tokens/parts.tsx'
import { loadEndpoint, StateBadge, sendSecret, webhookPath } from './parts.tsx'

const maxShown = 50

/** GET /admin/webhooks/:id */
export const showWebhook: HandlerById = async (context, request, reply) => {
  const endpoint = await loadEndpoint(context, request.params)
  const deliveries = await listDeliveries(context.sql, endpoint.id, maxShown)
  return sendPage(
    reply,
    <Layout title={`Webhook ${endpoint.id}`} section="tokens" actions={<Actions endpoint={endpoint} />}>
      <FormError name="token" />
      <FormError name="revision" />
      <ErrorSummary />
      <About endpoint={endpoint} />
      <Section id="deliveries" title="Last deliveries">
        <Table
          label="Last deliveries, as a table"
          columns={columns}
          rows={deliveries}
          empty="The log has no tries. It keeps the tries of the last seven days, at most 10,000 of each webhook."
        />
      </Section>
      {endpointState(endpoint) !== 'ended' && <Replay endpoint={endpoint} />}
    </Layout>,
  )
}

function Actions({ endpoint }: { endpoint: Endpoint }) {
  const { id, pausedAt } = endpoint
  const isEnded = endpointState(endpoint) === 'ended'
  return (
    <>
      {!isEnded && (
        <>
          <Action endpoint={endpoint} action="test" label="Send a test" />
          {pausedAt === null ? (
            <Action endpoint={endpoint} action="pause" label="Pause" />
          ) : (
            <Action endpoint={endpoint} action="resume" label="Resume" />
          )}
          <Action endpoint={endpoint} action="rotate" label="Rotate the secret" />
        </>
      )}
      <ButtonLink href={webhookPath(id, 'delete')} label="Delete" kind="danger" />
    </>
  )
}

interface ActionProps {
  endpoint: Endpoint
  action: 'test' | 'pause' | 'resume' | 'rotate'
  label: string
}

const Action = ({ endpoint, action, label }: ActionProps) => (
  <PostForm action={webhookPath(endpoint.id, action)}>
    <Revision of={endpoint} />
    <button type="submit" class="secondary">
      {label}
    </button>
  </PostForm>
)

/** The revision that the page shows. An action that is sent twice takes effect once. */
const Revision = ({ of: { revision } }: { of: Endpoint }) => <input type="hidden" name="revision" value={revision} />

const About = ({ endpoint }: { endpoint: Endpoint }) => (
  <Section id="facts" title="About">
    <Facts
      facts={{
        State: <StateBadge endpoint={endpoint} />,
        URL: <code>{endpoint.url}</code>,
        Token: <a href={tokenPath(endpoint.tokenId)}>{endpoint.tokenName}</a>,
        Deliveries: (
          <>
            {describeLag(endpoint)}: changes up to <Timestamp at={endpoint.deliveredTo} /> were delivered
          </>
        ),
        Created: (
          <>
            <Timestamp at={endpoint.createdAt} /> by {endpoint.createdBy}
          </>
        ),
        Secret: `version ${formatCount(endpoint.secretVersion)}${endpoint.formerSigns ? '; for a day after the rotation, the former one also signs' : ''}`,
      }}
    />
  </Section>
)

const columns: Column<Delivery>[] = [
  { heading: 'Time', cell: ({ at }) => <Timestamp at={at} /> },
  { heading: 'Event', cell: ({ type }) => <code>{type}</code> },
  { heading: 'Tenant', cell: ({ tenantId }) => tenantId ?? 'none' },
  { heading: 'Outcome', cell: describeOutcome },
  { heading: 'Took', cell: ({ durationMs }) => `${formatCount(durationMs)} ms`, numeric: true },
]

const Replay = ({ endpoint }: { endpoint: Endpoint }) => (
  <Section id="replay" title="Send again">
    <PostForm action={webhookPath(endpoint.id, 'replay')}>
      <Revision of={endpoint} />
      <Field
        name="from"
        label="From"
        type="datetime-local"
        hint="Date and time, UTC. An event is sent for each list that has changed since then, for a receiver that has lost some."
        required
      />
      <button type="submit" class="secondary">
        Send again
      </button>
    </PostForm>
  </Section>
)

/** The maximum wait for the outcome of a test, in milliseconds, shorter than the deadline of the request. */
const testTimeoutMs = 3_000

/** POST /admin/webhooks/:id/test */
export const testWebhook: HandlerById = async (context, request, reply) => {
  const endpoint = await loadEndpoint(context, request.params)
  const sent = context.webhooks.sendTest(actorOf(request), endpoint)
  const answer = await Promise.race([sent, pause(testTimeoutMs, null, { ref: false })])
  const outcome = answer ? describeOutcome(answer) : 'No answer yet: in 15 seconds at most, it is among the deliveries.'
  return redirectWithFlash(reply, webhookPath(endpoint.id), `The test was sent. ${outcome}`)
}

/** POST /admin/webhooks/:id/pause */
export const pauseWebhook: HandlerById = async (context, request, reply) => {
  const { id } = await loadEndpoint(context, request.params)
  await pauseEndpoint(context.sql, actorOf(request), id)
  return redirectWithFlash(
    reply,
    webhookPath(id),
    'The webhook is paused. What changes now is sent when it is resumed.',
  )
}

/** POST /admin/webhooks/:id/resume */
export const resumeWebhook: HandlerById = async (context, request, reply) => {
  const { id } = await loadEndpoint(context, request.params)
  await resumeEndpoint(context.sql, actorOf(request), id)
  return redirectWithFlash(reply, webhookPath(id), 'The webhook is resumed. What has waited is sent now.')
}

/** POST /admin/webhooks/:id/replay */
export const replayWebhook: HandlerById = async (context, request, reply) => {
  const { id } = await loadEndpoint(context, request.params)
  const form = formBody(request)
  const from = parseInstant(textField(form, 'from'))
  if (from === null) throw badInput({ from: [instantMessage] })
  await replayEndpoint(context.sql, actorOf(request), id, from, revisionOf(form))
  return redirectWithFlash(reply, webhookPath(id), 'Changes since that time are sent again.')
}

/** POST /admin/webhooks/:id/rotate */
export const rotateWebhookSecret: HandlerById = async (context, request, reply) => {
  const { id } = await loadEndpoint(context, request.params)
  const endpoint = await rotateSecret(context.sql, actorOf(request), id, revisionOf(formBody(request)))
  return sendSecret(context, reply, 'The secret is rotated', endpoint)
}

/**
 * Returns the revision of the webhook when the form was loaded; for a form without a revision, a revision that no
 * webhook has.
 */
const revisionOf = (form: URLSearchParams): number => parseIdentifier(textField(form, 'revision')) ?? 0

/** GET /admin/webhooks/:id/delete */
export const showDeleteWebhook: HandlerById = async (context, request, reply) => {
  const endpoint = await loadEndpoint(context, request.params)
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
  const { id, tokenId } = await loadEndpoint(context, request.params)
  await deleteEndpoint(context.sql, actorOf(request), id)
  return redirectWithFlash(reply, tokenPath(tokenId), `Webhook ${id} is deleted.`)
}
