import type { Endpoint, listEndpoints } from '../../domain/event/endpoint.ts'
import { type TokenRecord, tokenStatus } from '../../domain/token/token.ts'
import { describeLag } from '../../webhook/describe.ts'
import { ButtonLink, Section } from '../components/layout.tsx'
import { type Column, Table } from '../components/table.tsx'
import { tokenPath } from '../tokens/parts.tsx'
import { StateBadge, webhookPath } from './parts.tsx'

/** The webhooks of a token, on its page; nothing for an ended token without any. */
export function Webhooks({
  token,
  endpoints,
}: {
  token: TokenRecord
  endpoints: Awaited<ReturnType<typeof listEndpoints>>
}) {
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
