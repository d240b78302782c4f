import { Random } from '../../packages/demo/src/random.ts'
import type { AuditAction } from '../../src/domain/administrator/audit.ts'
import { createToken, editToken, revokeToken } from '../../src/domain/token/lifecycle.ts'
import type { Permission } from '../../src/domain/token/permission.ts'
import { rotateToken } from '../../src/domain/token/rotation.ts'
import type { TenantGrant } from '../../src/domain/token/token.ts'
import { createBuilders } from '../support/builders.ts'
import type { TestDatabase } from '../support/database.ts'

const hour = 1 / 24
const dayLength = 86_400_000

const ada = { name: 'ada@hollis.example', address: '203.0.113.24' }
const ben = { name: 'ben@hollis.example', address: '203.0.113.61' }

const vouchers: Permission[] = ['view_vouchers', 'view_orders']

/**
 * Fills a database with the tokens of a chain of hotels: some in daily use, others new, ended or revoked.
 *
 * @returns the id of the one that was used most, with requests, errors and exports of 90 days
 */
export async function fillLifelike(database: TestDatabase): Promise<number> {
  const { pool, platform } = database
  const build = createBuilders(database)
  const start = new Date()
  const before = (days: number) => new Date(start.getTime() - days * dayLength).toISOString()

  const group = await build.tenant({ name: 'Hollis Hotels' })
  const north = await build.tenant({ name: 'Hollis North', parent_id: group })
  const mill = await build.tenant({ name: 'The Old Mill', subdomain: 'old-mill', parent_id: north })
  const spa = await build.tenant({ name: 'Harbour Spa', subdomain: 'harbour-spa', parent_id: north })
  const bistro = await build.tenant({ name: 'Bistro Verde', subdomain: 'bistro-verde' })
  const alone = (tenantId: number): TenantGrant => ({ tenantId, withDescendants: false })
  const below = (tenantId: number): TenantGrant => ({ tenantId, withDescendants: true })

  /** Actions, in days ago. The audit lists them in the order of insertion. */
  const acts: { ago: number; act: () => Promise<unknown> }[] = []

  /** @returns the id, once it is made */
  function make(
    name: string,
    contact: string | null,
    permissions: Permission[],
    tenants: TenantGrant[],
    more: {
      ago: number
      by?: typeof ada
      rateLimit?: number
      validDays?: number
      used?: { ago: number; from: string }
    },
  ): { id: number } {
    const { ago, by = ada, rateLimit = null, validDays, used } = more
    const token = { id: 0 }
    acts.push({
      ago,
      async act() {
        const input = { name, contact, permissions, tenants, rateLimit }
        token.id = (await createToken(pool, by, { ...input, expiresAt: null })).id
        await platform`
          update gateway.token
          set created_at = ${before(ago)}, expires_at = ${validDays === undefined ? null : before(ago - validDays)}::text::timestamptz,
              last_used_at = ${used ? before(used.ago) : null}::text::timestamptz, last_used_address = ${used?.from ?? null}
          where id = ${token.id}`
      },
    })
    return token
  }

  make('Fenwick reporting, trial', 'Fenwick Data', ['view_vouchers'], [alone(bistro)], {
    ago: 176.31,
    validDays: 90,
    used: { ago: 91.2, from: '198.51.100.7' },
  })
  const lost = make('Kiosk in the lobby', 'it@old-mill.example', ['view_vouchers', 'redeem_vouchers'], [alone(mill)], {
    ago: 150.83,
    by: ben,
    used: { ago: 29.96, from: '192.0.2.80' },
  })
  make('Website of Bistro Verde', 'Studio Lind', ['view_vouchers'], [alone(bistro)], {
    ago: 139.64,
    by: ben,
    used: { ago: hour * 1.4, from: '198.51.100.30' },
  })
  const tills = make(
    'Tills, Hollis North',
    'support@brightpos.example',
    [...vouchers, 'redeem_vouchers'],
    [below(north)],
    { ago: 95.72, validDays: 120, rateLimit: 600, used: { ago: hour / 3, from: '192.0.2.14' } },
  )
  const warehouse = make(
    'Data warehouse',
    'data@hollis.example',
    [...vouchers, 'export_customer_information'],
    [below(group), alone(bistro)],
    { ago: 91.57, validDays: 365, rateLimit: 1200, used: { ago: hour / 12, from: '203.0.113.77' } },
  )
  const newsletter = make(
    'Newsletter',
    'crm@mailwright.example',
    ['export_customer_information'],
    [alone(mill), alone(spa)],
    { ago: 87.9, validDays: 90, used: { ago: 5.12, from: '203.0.113.190' } },
  )
  make('Spa bookings', 'api@calmly.example', ['view_vouchers', 'redeem_vouchers'], [alone(spa)], {
    ago: 11.66,
    by: ben,
    validDays: 90,
    used: { ago: hour * 3, from: '198.51.100.112' },
  })
  make('Accounting, being built', null, vouchers, [below(group)], { ago: 0.83, validDays: 90 })

  acts.push(
    { ago: 28.74, act: () => revokeToken(pool, ben, lost.id) },
    {
      ago: 20.69,
      act: () =>
        editToken(pool, ben, warehouse.id, 1, {
          name: 'Data warehouse',
          contact: 'data@hollis.example',
          permissions: [...vouchers, 'export_customer_information', 'redeem_vouchers'],
          tenants: [below(group), alone(bistro)],
          rateLimit: 1500,
        }),
    },
    {
      ago: hour * 4,
      async act() {
        const { id } = await rotateToken(pool, ada, tills.id, { overlap: 7 * 86_400, expiresAt: 'inherit' })
        await platform`
          update gateway.token set last_used_at = ${before(hour / 30)}, last_used_address = '192.0.2.15' where id = ${id}`
      },
    },
  )
  for (const ago of [62, 34, 6]) {
    for (const tenant of [mill, spa, bistro]) giveOut(ago + 0.21, warehouse, 'Data warehouse', tenant, '203.0.113.77')
  }
  for (const ago of [65.12, 35.12, 5.12]) {
    for (const tenant of [mill, spa]) giveOut(ago, newsletter, 'Newsletter', tenant, '203.0.113.190')
  }

  function giveOut(ago: number, token: { id: number }, name: string, tenantId: number, address: string): void {
    const action: AuditAction = 'customer.export'
    const records = new Random('records', Math.round(ago * 10) + tenantId).between(20, 100)
    const detail = JSON.stringify({ records, operation: 'list', requestId: `nightly-${90 - Math.round(ago)}` })
    acts.push({
      ago,
      act: () => platform`
        with recorded as (
          insert into gateway.audit_entry (actor, address, action, token_id, tenant_id, detail)
          values (${`token ${token.id} (${name})`}, ${address}, ${action}, ${token.id}, ${tenantId},
                  ${detail}::text::jsonb)
        )
        insert into gateway.token_export (token_id, day, tenant_id, records, last_at)
        values (${token.id}, ${before(ago).slice(0, 10)}::text::date, ${tenantId}, ${records}, ${before(ago)})`,
    })
  }

  for (const { ago, act } of acts.sort((one, other) => other.ago - one.ago)) {
    await act()
    // Moves the actions of this moment into the past.
    await platform`update gateway.audit_entry set at = ${before(ago)} where at >= ${start.toISOString()}`
    await platform`update gateway.token set created_at = ${before(ago)} where created_at >= ${start.toISOString()}`
    await platform`update gateway.token set revoked_at = ${before(ago)} where revoked_at >= ${start.toISOString()}`
  }
  await fillUse(platform, warehouse.id, days => before(days).slice(0, 10))
  return warehouse.id
}

/** Adds the requests of a nightly run and of people over the day: fewer on Sundays, more over time, and some errors. */
async function fillUse(platform: TestDatabase['platform'], id: number, dayBefore: (days: number) => string) {
  const uses: { token_id: number; day: string; operation: string; status: number; requests: number }[] = []
  for (let ago = 89; ago >= 0; ago--) {
    // For two days it was out of order.
    if (ago === 52 || ago === 51) continue
    const draw = new Random('use', ago)
    const day = dayBefore(ago)
    const weekday = new Date(day).getUTCDay()
    const load = (1 + (89 - ago) / 110) * (weekday === 0 ? 0.4 : weekday === 6 ? 0.65 : 1) * (ago === 0 ? 0.45 : 1)
    const add = (operation: string, status: number, usual: number) => {
      const requests = Math.round(usual * load * (0.85 + draw.below(30) / 100))
      if (requests > 0) uses.push({ token_id: id, day, operation, status, requests })
    }
    add('ListTenants', 200, 24)
    add('ListCatalogVouchers', 200, 310)
    add('GetCatalogVoucher', 200, 140)
    add('ListPurchasedVouchers', 200, 720)
    add('GetPurchasedVoucher', 200, 260)
    if (ago % 28 === 6) add('ListMarketingSignups', 200, 9)
    if (ago <= 34) add('GraphQL', 200, 330)
    if (ago <= 21) add('ResolveVoucher', 200, 190)
    if (ago <= 21) add('ResolveVoucher', 404, 14)
    if (draw.percent(30)) add('ListPurchasedVouchers', 429, 130)
    if (draw.percent(25)) add('GetPurchasedVoucher', 404, 25)
    if (ago === 41) add('ListCatalogVouchers', 400, 3)
    if (ago === 17) add('ListPurchasedVouchers', 503, 240)
  }
  const errors = [
    { operation: 'ResolveVoucher', status: 404, code: 'NOT_FOUND', reason: 'No such voucher.' },
    { operation: 'GetPurchasedVoucher', status: 404, code: 'NOT_FOUND', reason: 'No such voucher.' },
    {
      operation: 'ListPurchasedVouchers',
      status: 429,
      code: 'RATE_LIMITED',
      reason: 'The rate limit is exceeded. Try again after the window resets.',
    },
    {
      operation: 'ListCatalogVouchers',
      status: 400,
      code: 'BAD_USER_INPUT',
      reason: 'The request is not valid. Fields: updated_since.',
    },
  ].flatMap(({ status, ...error }) =>
    uses
      .filter(use => use.operation === error.operation && use.status === status)
      .map(({ day, requests }) => ({ ...error, token_id: id, day, requests, last_at: `${day}T00:41:00Z` })),
  )
  await platform`insert into gateway.request_count ${platform(uses)}`
  await platform`insert into gateway.request_error ${platform(errors)}`
}
