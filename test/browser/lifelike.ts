import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import type { Permission } from '../../src/domain/token/permission.ts'
import { rotateToken } from '../../src/domain/token/rotation.ts'
import { whole } from '../support/builders.ts'
import type { TestService } from '../support/service.ts'

const daySeconds = 86_400
const administrator = { name: 'ada@hollis.example', address: '203.0.113.24' }
/**
 * Fills a database with the tokens of a chain of hotels. Some tokens are in daily use; others are new, ended or
 * revoked.
 *
 * @returns the id of the most used token, which has requests, errors and exports of 90 days
 */
export async function fillWithHotelTokens({ pool, platform, build }: TestService): Promise<number> {
  const group = await build.tenant({ name: 'Hollis Hotels' })
  const north = await build.tenant({ name: 'Hollis North', parent_id: group })
  const mill = await build.tenant({ name: 'The Old Mill', subdomain: 'old-mill', parent_id: north })
  const bistro = await build.tenant({ name: 'Bistro Verde', subdomain: 'bistro-verde' })
  const data: Permission[] = ['view_vouchers', 'view_orders', 'export_customer_information']
  const tills: Permission[] = ['view_vouchers', 'view_orders', 'redeem_vouchers']
  type Tenants = Parameters<typeof build.token>[0]
  /** The last three values are days: since the creation, since the last use, and from creation to expiry. */
  const rows: [name: string, Permission[], Tenants, age: number, used: number | null, lifetime: number | null][] = [
    ['Kiosk in the lobby', ['view_vouchers', 'redeem_vouchers'], [mill], 151, 30, null],
    ['Tills, Hollis North', tills, [whole(north)], 96, 0.01, 120],
    ['Data warehouse', data, [whole(group), bistro], 92, 0.003, 365],
    ['Accounting, being built', ['view_vouchers', 'view_orders'], [whole(group)], 0.8, null, 90],
  ]
  const ids: number[] = []
  for (const [name, permissions, tenants, age, used, lifetime] of rows) {
    const { id } = await build.token(tenants, { name, permissions })
    ids.push(id)
    await platform`
      update gateway.token
      set contact = 'support@partner.example', created_at = now() - make_interval(secs => ${age * daySeconds}),
          expires_at = now() - make_interval(secs => ${lifetime && (age - lifetime) * daySeconds}),
          last_used_at = now() - make_interval(secs => ${used && used * daySeconds}),
          last_used_address = ${used && '203.0.113.77'}
      where id = ${id}`
  }
  const [lost = 0, oldTills = 0, warehouse = 0] = ids
  await revokeToken(pool, administrator, lost)
  await rotateToken(pool, administrator, oldTills, { overlap: 7 * daySeconds, expiresAt: 'inherit' })
  await platform`
    insert into gateway.token_export (token_id, day, tenant_id, records, last_at)
    select ${warehouse}, date(at), tenant, 20 + tenant * 7 + ago, at
    from unnest('{62, 34, 6}'::integer[]) ago, unnest(array[${mill}, ${bistro}]::bigint[]) tenant,
      lateral (select now() - make_interval(days => ago)) export (at)`
  await addRequestCounts(platform, warehouse)
  return warehouse
}

/** Adds the counts of nightly and daytime requests: fewer on Sundays, more from month to month, and some errors. */
async function addRequestCounts(platform: TestService['platform'], id: number) {
  await platform`
    insert into gateway.request_count (token_id, day, operation, status, requests)
    select ${id}, day, operation, status, usual * share * (0.85 + (ago * 37 + usual) % 30 / 100.0)
    from generate_series(0, 89) ago, date((now() at time zone 'UTC') - make_interval(days => ago)) day,
      lateral (select (1 + (89 - ago) / 110.0) * case extract(dow from day) when 0 then 0.4 when 6 then 0.65 else 1 end
        * case ago when 0 then 0.45 else 1 end as share) load,
      (values ('ListCatalogVouchers', 200, 310, 1, 89), ('ListPurchasedVouchers', 200, 720, 1, 89),
        ('ListMarketingSignups', 200, 9, 28, 89), ('GraphQL', 200, 330, 1, 34), ('ResolveVoucher', 200, 190, 1, 21),
        ('ResolveVoucher', 404, 14, 1, 21), ('ListPurchasedVouchers', 429, 130, 3, 89)) use (operation, status, usual, every, since)
    where ago % every = 0 and ago <= since and ago not in (51, 52)`
  await platform`
    insert into gateway.request_error (token_id, day, operation, code, reason, requests, last_at)
    select token_id, day, operation, 'NOT_FOUND', 'No such voucher.', requests, day + time '00:41' at time zone 'UTC'
    from gateway.request_count where token_id = ${id} and status = 404`
}
