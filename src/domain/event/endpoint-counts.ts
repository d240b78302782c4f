/** Counts of endpoints, for metrics. */
import type { Sql } from '../../db/sql.ts'
import { type PauseReason, tokenIsActive } from './endpoint.ts'

/** The endpoints of active tokens. */
export interface EndpointCounts {
  active: number
  failing: number
  /** By reason. */
  paused: Record<PauseReason, number>
  /** The greatest time since `deliveredTo` of an endpoint that is not paused, in seconds. */
  lag: number
}

/** Counts the endpoints by state. */
export async function countEndpoints(sql: Sql): Promise<EndpointCounts> {
  const [counts] = await sql<[EndpointCounts]>`
    select /* webhook.count */ count(*) filter (where paused_at is null and failing_since is null)::integer as active,
           count(*) filter (where paused_at is null and failing_since is not null)::integer as failing,
           json_build_object('administrator', count(*) filter (where pause_reason = 'administrator'),
                             'failing', count(*) filter (where pause_reason = 'failing'),
                             'gone', count(*) filter (where pause_reason = 'gone')) as paused,
           coalesce(extract(epoch from now() - min(delivered_to) filter (where paused_at is null))::float8, 0) as lag
    from gateway.webhook_endpoint endpoint join gateway.token on token.id = token_id
    where ${tokenIsActive(sql)}`
  return counts
}
