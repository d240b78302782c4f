import { arrayText, type Pool } from '../../src/db/sql.ts'
import type { Actor } from '../../src/domain/administrator/audit.ts'
import { type CreatedToken, createToken } from '../../src/domain/token/lifecycle.ts'
import { type Permission, permissionNames } from '../../src/domain/token/permission.ts'
import type { TenantGrant } from '../../src/domain/token/token.ts'
import { projected } from './projected.ts'

type Columns = Record<string, string | number | boolean | string[] | null>

/** The actor of all changes in tests. */
export const tester: Actor = { name: 'tester', address: null }

export const whole = (tenantId: number): TenantGrant => ({ tenantId, withDescendants: true })

/** Changes the stamp that a step gave to a record. @param record the name of the record table in the schema gateway */
export async function stampRecord(sql: Pool, record: string, id: number, stamp: string): Promise<void> {
  await projected(sql)
  await sql`update gateway.${sql(record)} set updated_at = ${stamp} where id = ${id}`
}

/** Returns functions that insert rows, with defaults for required columns, and return the ids of the rows. */
export function createBuilders({ platform, pool }: { platform: Pool; pool: Pool }) {
  let count = 0

  const nameOf = (type: string) => {
    count += 1
    return { slug: `${type.toLowerCase()}-${count}`, title: `${type} ${count}` }
  }

  /** Inserts a row. @param columns.updated_at the stamp of the record; by default a step sets the stamp */
  async function insert(table: string, { updated_at: stamp, ...columns }: Columns): Promise<number> {
    const cells = Object.entries(columns).map(([name, cell]) => [name, Array.isArray(cell) ? arrayText(cell) : cell])
    const row = Object.fromEntries(cells)
    const [inserted] = await platform<{ id: number }[]>`
      insert into ${platform(table)} ${platform(row)} returning id`
    if (!inserted) throw new Error(`nothing was inserted into ${table}`)
    if (stamp) await stampRecord(platform, table.replace('purchased_', ''), inserted.id, String(stamp))
    return inserted.id
  }

  return {
    tenant: (columns: Columns = {}) => insert('tenant', { name: `Tenant ${++count}`, ...columns }),

    product: (tenantId: number, columns: Columns = {}) =>
      insert('product', { tenant_id: tenantId, ...nameOf('Product'), currency: 'GBP', ...columns }),

    /** Links the category to the products. */
    category: async (tenantId: number, productIds: number[] = [], columns: Columns = {}) => {
      const id = await insert('category', { tenant_id: tenantId, ...nameOf('Category'), ...columns })
      for (const productId of productIds) {
        await platform`insert into product_category ${platform({ product_id: productId, category_id: id })}`
      }
      return id
    },

    variant: (productId: number, columns: Columns = {}) =>
      insert('variant', { product_id: productId, ...nameOf('Variant'), currency: 'GBP', ...columns }),

    voucher: (tenantId: number, columns: Columns = {}) =>
      insert('purchased_voucher', { tenant_id: tenantId, reference: `REF-${++count}`, ...columns }),

    /** Inserts a monetary voucher of which nothing is redeemed. @returns the voucher's id */
    sale: (tenantId: number, value: number, day: string, columns: Columns = {}) => {
      const paid = { purchase_value: value, initial_balance: value, current_balance: value, currency: 'GBP' }
      const required = { tenant_id: tenantId, reference: `REF-${++count}`, purchase_timestamp: `${day}T12:00:00Z` }
      return insert('purchased_voucher', { ...required, ...paid, ...columns })
    },

    /** Inserts a customer, who by default has consented to marketing. */
    customer: (tenantId: number, columns: Columns = {}) =>
      insert('customer', { tenant_id: tenantId, marketing_opted: true, ...columns }),

    /** Creates a token, by default with all permissions. @returns the token's id and secret */
    token: (tenants: (number | TenantGrant)[], options: TokenOptions = {}) =>
      createTestToken(pool, tenants, { name: `Token ${++count}`, ...options }),
  }
}

export type Builders = ReturnType<typeof createBuilders>

type TokenOptions = { permissions?: Permission[]; name?: string; rateLimit?: number; expiresAt?: Date }

/** Creates a token, by default with all permissions. @param tenants a number means the tenant without its descendants */
export const createTestToken = async (
  pool: Pool,
  tenants: readonly (number | TenantGrant)[],
  { name = 'Token', rateLimit, permissions = [...permissionNames], expiresAt }: TokenOptions = {},
): Promise<CreatedToken> => {
  await projected(pool)
  return createToken(pool, tester, {
    name,
    contact: null,
    rateLimit: rateLimit ?? null,
    permissions,
    tenants: tenants.map(one => (typeof one === 'number' ? { tenantId: one, withDescendants: false } : one)),
    expiresAt: expiresAt ?? null,
  })
}
