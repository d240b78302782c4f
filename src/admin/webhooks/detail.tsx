import { type Delivery, listDeliveries } from '../../domain/event/delivery.ts'
import { type Endpoint, endpointState } from '../../domain/event/endpoint.ts'
import { Facts } from '../../pages/facts.tsx'
import { describeLag, describeOutcome } from '../../webhook/describe.ts'
import { ErrorSummary, Field, FormError } from '../components/field.tsx'
import { formatCount, Timestamp } from '../components/format.tsx'
import { ButtonLink, Layout, PostForm, Section } from '../components/layout.tsx'
import { type Column, Table } from '../components/table.tsx'
import { type HandlerById, sendPage } from '../context.ts'
import { tokenPath } from '../tokens/parts.tsx'
import { endpointOf, StateBadge, webhookPath } from './parts.tsx'

const maxShown = 50

/** GET /admin/webhooks/:id */
export const showWebhook: HandlerById = async (context, request, reply) => {
  const endpoint = await endpointOf(context, request.params)
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

/** The revision that the page shows: an action that is sent twice acts once. */
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
