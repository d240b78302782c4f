// The parts that several pages of webhooks show.
import { type Endpoint, endpointState, getEndpoint, pauseReasons } from '../../domain/event/endpoint.ts'
import { requireIdentifier } from '../../domain/value/identifier.ts'
import { adminPath } from '../../http/paths.ts'
import { Timestamp } from '../components/format.tsx'
import type { AdminContext } from '../context.ts'

/** Returns the path of a webhook's page, or of an action below it. */
export const webhookPath = (id: number, action?: 'test' | 'pause' | 'resume' | 'replay' | 'rotate' | 'delete') =>
  `${adminPath}/webhooks/${id}${action ? `/${action}` : ''}`

/** Returns the endpoint whose id is in the path. @throws `NOT_FOUND` */
export const endpointOf = ({ sql }: AdminContext, { id }: { id: string }): Promise<Endpoint> =>
  getEndpoint(sql, requireIdentifier(id, 'webhook'))

/** The state of an endpoint, and why it is not active. */
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
