import { Random } from '../../packages/demo/src/random.ts'
import { editToken, revokeToken } from '../../src/domain/token/lifecycle.ts'
import type { Permission } from '../../src/domain/token/permission.ts'
import { rotateToken } from '../../src/domain/token/rotation.ts'
import { whole } from '../support/builders.ts'
import type { TestService } from '../support/service.ts'

const dayLength = 86_400_000
const before = (days: number) => new Date(Date.now() - days * dayLength).toISOString()

const ada = { name: 'ada@hollis.example', address: '203.0.113.24' }
const sales: Permission[] = ['view_vouchers', 'view_orders']

/**
 * Fills a database with the tokens of a chain of hotels: some in daily use, others new, ended or revoked.
 *
 * @returns the id of the one that was used most, with requests, errors and exports of 90 days
 */
export async function fillLifelike({ database: { pool, platform }, build }: TestService): Promise<number> {
  const group = await build.tenant({ name: 'Hollis Hotels' })
  const north = await build.tenant({ name: 'Hollis North', parent_id: group })
  const mill = await build.tenant({ name: 'The Old Mill', subdomain: 'old-mill', parent_id: north })
  const spa = await build.tenant({ name: 'Harbour Spa', subdomain: 'harbour-spa', parent_id: north })
  const bistro = await build.tenant({ name: 'Bistro Verde', subdomain: 'bistro-verde' })

  /**
   * Makes a token with the given ages of its creation and of its last use, in days, and with a lifetime in days or
   * without an end.
   */
  async function make(
    name: string,
    permissions: Permission[],
    tenants: Parameters<typeof build.token>[0],
    { ago, days = null, used = null }: { ago: number; days?: number | null; used?: number | null },
  ): Promise<number> {
    const { id } = await build.token(tenants, { name, permissions })
    await platform`
      update gateway.token
      set contact = 'support@partner.example', created_at = ${before(ago)}::text::timestamptz,
          expires_at = ${days === null ? null : before(ago - days)}::text::timestamptz,
          last_used_at = ${used === null ? null : before(used)}::text::timestamptz,
          last_used_address = ${used === null ? null : '203.0.113.77'}
      where id = ${id}`
    return id
  }

  await make('Fenwick reporting, trial', ['view_vouchers'], [bistro], { ago: 176, days: 90, used: 91 })
  const lost = await make('Kiosk in the lobby', ['view_vouchers', 'redeem_vouchers'], [mill], { ago: 151, used: 30 })
  await make('Website of Bistro Verde', ['view_vouchers'], [bistro], { ago: 140, used: 0.06 })
  const tills = await make('Tills, Hollis North', [...sales, 'redeem_vouchers'], [whole(north)], {
    ...{ ago: 96, days: 120, used: 0.01 },
  })
  const export_customer_information: Permission = 'export_customer_information'
  const warehouse = await make('Data warehouse', [...sales, export_customer_information], [whole(group), bistro], {
    ...{ ago: 92, days: 365, used: 0.003 },
  })
  await make('Newsletter', [export_customer_information], [mill, spa], { ago: 88, days: 90, used: 5 })
  await make('Accounting, being built', sales, [whole(group)], { ago: 0.8, days: 90 })
  await revokeToken(pool, ada, lost)
  await editToken(pool, ada, warehouse, 1, {
    ...{ name: 'Data warehouse', contact: 'data@hollis.example', rateLimit: 1500 },
    permissions: [...sales, export_customer_information, 'redeem_vouchers'],
    tenants: [whole(group), { tenantId: bistro, withDescendants: false }],
  })
  await rotateToken(pool, ada, tills, { overlap: 7 * 86_400, expiresAt: 'inherit' })
  for (const [ago, tenant] of [62, 34, 6].flatMap(ago => [mill, spa, bistro].map(tenant => [ago, tenant] as const))) {
    const records = new Random('records', ago * 10 + tenant).between(20, 100)
    await platform`
      with recorded as (
        insert into gateway.audit_entry (at, actor, address, action, token_id, tenant_id, detail)
        values (${before(ago)}, ${`token ${warehouse} (Data warehouse)`}, '203.0.113.77', 'customer.export', ${warehouse},
                ${tenant}, jsonb_build_object('records', ${records}::integer, 'operation', 'list'))
      )
      insert into gateway.token_export (token_id, day, tenant_id, records, last_at)
      values (${warehouse}, ${before(ago).slice(0, 10)}::text::date, ${tenant}, ${records}, ${before(ago)})`
  }
  await fillUse(platform, warehouse)
  return warehouse
}

/** Adds the requests of a nightly run and of people over the day: fewer on Sundays, more over time, and some errors. */
async function fillUse(platform: TestService['database']['platform'], id: number) {
  await platform`
    insert into gateway.request_count (token_id, day, operation, status, requests)
    select ${id}, day, operation, status, usual * share * (0.85 + (ago * 37 + usual) % 30 / 100.0)
    from generate_series(0, 89) ago, date((now() at time zone 'UTC') - make_interval(days => ago)) day,
      lateral (select (1 + (89 - ago) / 110.0) * case extract(dow from day) when 0 then 0.4 when 6 then 0.65 else 1 end
        * case ago when 0 then 0.45 else 1 end as share) load,
      (values ('ListTenants', 200, 24, 1, 89), ('ListCatalogVouchers', 200, 310, 1, 89),
        ('GetCatalogVoucher', 200, 140, 1, 89), ('ListPurchasedVouchers', 200, 720, 1, 89),
        ('GetPurchasedVoucher', 200, 260, 1, 89), ('ListMarketingSignups', 200, 9, 28, 89),
        ('GraphQL', 200, 330, 1, 34), ('ResolveVoucher', 200, 190, 1, 21), ('ResolveVoucher', 404, 14, 1, 21),
        ('ListPurchasedVouchers', 429, 130, 3, 89), ('GetPurchasedVoucher', 404, 25, 4, 89),
        ('ListCatalogVouchers', 400, 3, 41, 89), ('ListPurchasedVouchers', 503, 240, 85, 89)
      ) use (operation, status, usual, every, since)
    where ago % every = 0 and ago <= since and ago not in (51, 52)`
  await platform`
    insert into gateway.request_error (token_id, day, operation, code, reason, requests, last_at)
    select token_id, day, operation, code, reason, requests, day + time '00:41' at time zone 'UTC'
    from gateway.request_count
    join (values ('ResolveVoucher', 404, 'NOT_FOUND', 'No such voucher.'),
      ('ListCatalogVouchers', 400, 'BAD_USER_INPUT', 'Fields: updated_since.')
    ) error (operation, status, code, reason) using (operation, status)
    where token_id = ${id}`
}
