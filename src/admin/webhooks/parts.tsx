// Components and helpers that several pages about webhooks share.
import type { FastifyReply } from 'fastify'
import { type Endpoint, endpointState, getEndpoint, pauseReasons } from '../../domain/event/endpoint.ts'
import { webhookSecret } from '../../domain/event/secret.ts'
import { type TokenRecord, tokenStatus } from '../../domain/token/token.ts'
import { requireIdentifier } from '../../domain/value/identifier.ts'
import { adminPath } from '../../http/paths.ts'
import { describeLag } from '../../webhook/describe.ts'
import { TextToCopy } from '../components/copy-button.tsx'
import { Timestamp } from '../components/format.tsx'
import { ButtonLink, Layout, Section } from '../components/layout.tsx'
import { type Column, Table } from '../components/table.tsx'
import { type AdminContext, sendPage } from '../context.ts'
import { tokenPath } from '../tokens/parts.tsx'

/** Returns the path of a webhook's page, or of an action below it. */
export const webhookPath = (id: number, action?: 'test' | 'pause' | 'resume' | 'replay' | 'rotate' | 'delete') =>
  `${adminPath}/webhooks/${id}${action ? `/${action}` : ''}`

/** Returns the endpoint whose id is in the path. @throws `NOT_FOUND` */
export const loadEndpoint = ({ sql }: AdminContext, { id }: { id: string }): Promise<Endpoint> =>
  getEndpoint(sql, requireIdentifier(id, 'webhook'))

/** A badge with the state of an endpoint, and with the reason when it is not active. */
export function StateBadge({ endpoint }: { endpoint: Endpoint }) {
  const { failingSince, pausedAt, pauseReason } = endpoint
  switch (endpointState(endpoint)) {
    case 'active':
      return <span class="badge good">active</span>
    case 'failing':
      return (
        <>
          <span class="badge warn">failing</span> since {failingSince && <Timestamp at={failingSince} />}
        </>
      )
    case 'paused':
      return (
        <>
          <span class="badge bad">paused</span> since {pausedAt && <Timestamp at={pausedAt} />}
          {pauseReason && ` ${pauseReasons[pauseReason]}`}
        </>
      )
    case 'ended':
      return <span class="badge bad">token ended</span>
  }
}

/** The webhooks of a token, for the page of the token; nothing for an ended token without webhooks. */
export function Webhooks({ token, endpoints }: { token: TokenRecord; endpoints: Endpoint[] }) {
  const isActive = tokenStatus(token) === 'active'
  if (!isActive && endpoints.length === 0) return null
  return (
    <Section id="webhooks" title="Webhooks">
      <Table label="Webhooks, as a table" columns={columns} rows={endpoints} empty="This token has no webhook." />
      {isActive && (
        <p>
          <ButtonLink href={tokenPath(token.id, 'webhooks')} label="Add a webhook" />
        </p>
      )}
    </Section>
  )
}

const columns: Column<Endpoint>[] = [
  { heading: 'URL', cell: ({ id, url }) => <a href={webhookPath(id)}>{url}</a> },
  { heading: 'State', cell: endpoint => <StateBadge endpoint={endpoint} /> },
  { heading: 'Deliveries', cell: describeLag },
]

/** Answers with a page that shows the present secret of an endpoint. */
export const sendSecret = (
  { webhooks }: AdminContext,
  reply: FastifyReply,
  title: string,
  { id, secretVersion, formerSigns }: Endpoint,
): FastifyReply =>
  sendPage(
    reply,
    <Layout title={title} section="tokens" narrow>
      <p class="warning">
        Copy the secret now, and hand it over through a safe channel. It is shown only once.
        {formerSigns && ' For a day the former secret also signs, so that the receiver can switch.'}
      </p>
      <Section id="secret-heading" title="Secret">
        <p class="hint">
          The receiver checks with it that an event is from this service, by the specification Standard Webhooks.
        </p>
        <TextToCopy id="secret" text={webhookSecret(webhooks.key, id, secretVersion)} />
      </Section>
      <p>
        <ButtonLink kind="primary" href={webhookPath(id)} label="I have copied it: go to the webhook" />
      </p>
    </Layout>,
  )
