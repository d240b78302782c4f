/** Checks that the last change of each list was delivered, and that the events of a list arrived in order. */
import type postgres from '#postgres'
import type { Received } from './receiver.ts'

/** Returns the events that do not begin where the previous event of their list ended. Repeated events do not count. */
export function findReordered(delivered: readonly Received[]): string[] {
  const seen = new Set<string>()
  const ends = new Map<string, string>()
  return delivered.flatMap(({ id, type, tenant_id, updated_since, server_time }) => {
    if (seen.has(id)) return []
    seen.add(id)
    const list = `${tenant_id} ${type}`
    const end = ends.get(list)
    ends.set(list, server_time)
    const follows = end === undefined || updated_since === null || updated_since === end
    return follows ? [] : [`${list}: ${updated_since} after ${end}`]
  })
}

/**
 * Returns the number of lists with a change that was not delivered to a reachable endpoint. A list that changed before
 * its tenant moved into the scope of the token does not count, because the event of the tenant covers it.
 */
export async function countWaiting(sql: postgres.ISql): Promise<number> {
  const [row] = await sql<{ waiting: number }[]>`
    select count(*)::integer as waiting
    from gateway.webhook_endpoint endpoint join gateway.token_tenant granted using (token_id)
    join gateway.tenant_path on granted.tenant_id = tenant_path.tenant_id or with_descendants and granted.tenant_id = any(path)
    join gateway.list_head head on head.tenant_id = tenant_path.tenant_id and head.changed_at > starts_at
    left join gateway.list_head own on own.tenant_id = head.tenant_id and own.record = 'tenant'
    left join gateway.webhook_position position
      on endpoint_id = endpoint.id and position.tenant_id = head.tenant_id and position.record = head.record
    where url like 'https://localhost%' and head.record::text in ('tenant', 'product', 'voucher', 'customer') and head.changed_at > coalesce(position.delivered_to, starts_at)
      and (head.record = 'tenant' or head.changed_at > own.changed_at)`
  return row?.waiting ?? 0
}
