/** Reads the tenants directly below a tenant, in the order of their names, as far as a token is authorised for them. */
import { arrayText, type RecordSql } from '../../db/sql.ts'
import { type PageWindow, type RecordPage, readFromBothEnds, rowOrderCondition, toPage } from '../paging/page.ts'
import { lastStamp, toServerTime } from '../sync/server-time.ts'
import type { Token } from '../token/token.ts'
import { grantedBy } from './granted.ts'
import { byName, type Tenant, tenantRow } from './tenant.ts'

/**
 * A request for a page of the tenants directly below a tenant. The page is between the current positions of the tenants
 * in its cursors.
 */
export interface ChildrenRequest {
  parentId: number
  window: PageWindow
}

/**
 * Returns SQL that the statements share, for parents that the token is authorised for (R21). The relation `below_grant`
 * has the parents whose descendants a grant includes. `isVisible` is the condition that a token is authorised for a
 * tenant below a parent of `wanted`.
 */
function visibleBelow(sql: RecordSql, token: Token, parentIds: readonly number[]) {
  const { named, withDescendants } = grantedBy(token)
  return {
    parents: sql`${arrayText(parentIds)}::text::bigint[]`,
    grants: sql`
      below_grant(parent_id) as materialized (
        select tenant_id from gateway.tenant_path
        where tenant_id = any(${arrayText(parentIds)}::text::bigint[]) and path && ${withDescendants}::text::bigint[]
      )`,
    isVisible: sql`
      tenant.parent_id = wanted.parent_id
      and (wanted.parent_id in (select parent_id from below_grant) or tenant.id = any(${named}::text::bigint[]))`,
  }
}

/**
 * Reads pages in the order of `byName`, then `id`; one statement reads the pages from the starts of lists, another the
 * pages from the ends. A cursor of a deleted tenant is ignored.
 */
export async function listChildTenants(
  sql: RecordSql,
  token: Token,
  requests: readonly ChildrenRequest[],
): Promise<RecordPage<Tenant>[]> {
  return readFromBothEnds(requests, async (asked, backward) => {
    const ids = asked.map(({ parentId }) => parentId)
    const { parents, grants, isVisible } = visibleBelow(sql, token, ids)
    const direction = backward ? sql`desc` : sql``
    const found = await sql`
      with /* tenant.children */ ${grants}
      select (
        select string_agg(row, '') from (
          select ${tenantRow.select(sql)} as row from gateway.tenant
          where ${isVisible}
            and (${rowOrderCondition(sql, byName, 'after', sql`after_id`)}) is not false
            and (${rowOrderCondition(sql, byName, 'before', sql`before_id`)}) is not false
          order by gateway.text_order(name) collate "C" ${direction}, id ${direction} limit wanted.size
        ) page
      ), ${lastStamp(sql)}
      from unnest(${parents}, ${arrayText(asked.map(({ window }) => window.after?.id ?? null))}::text::bigint[],
                  ${arrayText(asked.map(({ window }) => window.before?.id ?? null))}::text::bigint[],
                  ${arrayText(asked.map(({ window }) => window.limit + 1))}::text::bigint[])
           with ordinality as wanted(parent_id, after_id, before_id, size, place)
      order by place`.raw()
    return asked.map(({ window }, index) => ({
      ...toPage(window, tenantRow.read(found[index]?.[0])),
      serverTime: toServerTime(found[index]?.[1]),
    }))
  })
}

/**
 * Counts the tenants directly below each parent for which the token is authorised. Results are in the order of
 * `parentIds`.
 */
export async function countChildTenants(sql: RecordSql, token: Token, parentIds: readonly number[]): Promise<number[]> {
  const { parents, grants, isVisible } = visibleBelow(sql, token, parentIds)
  const rows = await sql<{ count: number }[]>`
    with /* tenant.count_children */ ${grants}
    select (select count(*) from gateway.tenant where ${isVisible}) as count
    from unnest(${parents}) with ordinality as wanted(parent_id, place)
    order by place`
  return rows.map(({ count }) => count)
}
