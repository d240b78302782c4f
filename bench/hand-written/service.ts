/**
 * A service that is written by hand, for comparison: Fastify, postgres.js, typed rows that become objects, and
 * `JSON.stringify`. It has no request rate, no tree of tenants and no permissions.
 */
import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import Fastify from 'fastify'
import { connect } from './database.ts'
import {
  type CategoryRow,
  type ProductRow,
  type ResolutionRow,
  toProduct,
  toResolution,
  toVoucher,
  type VariantRow,
  type VoucherRow,
} from './v1.ts'

const pageSize = 50

const sql = connect()

const voucherColumns = sql`
  id, reference, initial_balance, current_balance, purchase_value, currency, is_monetary, allow_part_redeem, void,
  order_id, order_item_id, product_id, product_title, product_slug, parent_product_id, parent_product_title,
  purchase_timestamp, date_issued, date_valid_start, date_valid_end, date_scheduled, redemption_status, void_reason,
  void_date, created_at, updated_at`

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
const header = encode({ alg: 'ES256', typ: 'JWT', kid: randomBytes(32).toString('base64url') })

/** Signs a redemption token as the service does. */
function signToken(voucher: number, tenant: number, caller: number): string {
  const iat = Math.floor(Date.now() / 1000)
  const claims = {
    iss: 'http://localhost:8080',
    aud: 'redemption',
    sub: String(voucher),
    voucher_id: voucher,
    owner_id: tenant,
    tenant_id: tenant,
    token_id: caller,
    jti: randomBytes(16).toString('base64url'),
    iat,
    exp: iat + 900,
  }
  const content = `${header}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${content}.${signature.toString('base64url')}`
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The id of the token. It may do everything. */
    tokenId: number
  }
}

interface Route {
  Params: { tenant: number; id: number }
  Querystring: { cursor?: string; updated_since?: string }
  Body: { voucher_reference: string }
}

const params = {
  type: 'object',
  properties: { tenant: { type: 'integer', minimum: 1 }, id: { type: 'integer', minimum: 1 } },
}
const querystring = { type: 'object', properties: { cursor: { type: 'string' }, updated_since: { type: 'string' } } }
const body = {
  type: 'object',
  properties: { voucher_reference: { type: 'string', maxLength: 255 } },
  required: ['voucher_reference'],
}

/** @returns the place after which a page begins. A cursor is the encoded place of the last record of the former page */
function readStart({ cursor, updated_since }: Route['Querystring']) {
  if (!cursor) return { updatedAt: updated_since || '-infinity', id: 0 }
  const [updatedAt = '', id] = Buffer.from(cursor, 'base64url').toString('latin1').split('|')
  return { updatedAt, id: Number(id) }
}

/** A row of a list with the stamp of the last step, or only that stamp when the list is empty. */
type Listed<Row> = (Row | { id: null }) & { server_time: string }

/** @returns the records of a page, and one further record when the list has a next page */
const recordsOf = <Row extends { id: number }>(rows: Listed<Row>[]): Row[] =>
  rows.filter((row): row is Listed<Row> & Row => row.id !== null)

function toPage<Row extends { id: number; updated_at: string }>(rows: Listed<Row>[], data: object[]) {
  const last = rows.length > pageSize ? recordsOf(rows)[pageSize - 1] : undefined
  const next_cursor = last ? Buffer.from(`${last.updated_at}|${last.id}`, 'latin1').toString('base64url') : null
  return { data, next_cursor, server_time: rows[0]?.server_time }
}

function groupByProduct<Row extends { product_id: number }>(rows: Row[]): Map<number, Row[]> {
  const groups = new Map<number, Row[]>()
  for (const row of rows) {
    const group = groups.get(row.product_id)
    if (group) group.push(row)
    else groups.set(row.product_id, [row])
  }
  return groups
}

const app = Fastify()
const callers = new Map<string, number>()

async function findCaller(secret: string): Promise<number | undefined> {
  const [token] = await sql<{ id: number }[]>`
    select id from gateway.token
    where token_hash = ${createHash('sha256').update(secret).digest()}
      and revoked_at is null and (expires_at is null or expires_at > now())`
  if (token) callers.set(secret, token.id)
  return token?.id
}

app.decorateRequest('tokenId', 0)
app.addHook('onRequest', async (request, reply) => {
  const secret = request.headers.authorization?.slice('Bearer '.length) ?? ''
  const caller = callers.get(secret) ?? (await findCaller(secret))
  if (caller === undefined) return reply.code(401).send({ message: 'A valid bearer token is required.' })
  request.tokenId = caller
})

const tenantPath = '/api/external/v1/tenants/:tenant'
const list = { schema: { params, querystring } }

app.get<Route>(`${tenantPath}/sales/purchased-vouchers`, list, async ({ params: { tenant }, query }) => {
  const { updatedAt, id } = readStart(query)
  const rows = await sql<Listed<VoucherRow>[]>`
    select server_time, page.*
    from (select max(stamp) as server_time from gateway.step) step left join lateral (
      select ${voucherColumns} from gateway.voucher
      where tenant_id = ${tenant} and (updated_at, id) > (${updatedAt}::text::timestamptz, ${id}::bigint)
      order by updated_at, id limit ${pageSize + 1}
    ) page on true`
  return toPage(rows, recordsOf(rows).slice(0, pageSize).map(toVoucher))
})

app.get<Route>(`${tenantPath}/catalog/vouchers`, list, async ({ params: { tenant }, query }) => {
  const { updatedAt, id } = readStart(query)
  const rows = await sql<Listed<ProductRow>[]>`
    select server_time, page.*
    from (select max(stamp) as server_time from gateway.step) step left join lateral (
      select id, slug, title, summary, description_html, currency, price, sale_price, monetary_value, is_monetary,
             allow_part_redeem, validity_type, validity_months, redemption_info, sort_order, image_url,
             array_to_json(image_urls) as image_urls, updated_at
      from gateway.product
      where tenant_id = ${tenant} and (updated_at, id) > (${updatedAt}::text::timestamptz, ${id}::bigint)
      order by updated_at, id limit ${pageSize + 1}
    ) page on true`
  const shown = recordsOf(rows).slice(0, pageSize)
  const ids = `{${shown.map(row => row.id).join(',')}}`
  const [categoryRows, variantRows] = await Promise.all([
    sql<CategoryRow[]>`
      select product.id as product_id, category.id, category.slug, category.title, category.sort_order
      from gateway.product, unnest(category_ids) category_id join gateway.category on category.id = category_id
      where product.id = any(${ids}::text::bigint[]) order by category.sort_order, category.id`,
    sql<VariantRow[]>`
      select product_id, id, slug, title, price, sale_price, currency, is_monetary, sort_order, updated_at
      from gateway.variant where product_id = any(${ids}::text::bigint[]) order by sort_order, id`,
  ])
  const categories = groupByProduct(categoryRows)
  const variants = groupByProduct(variantRows)
  return toPage(
    rows,
    shown.map(row => toProduct(row, categories.get(row.id) ?? [], variants.get(row.id) ?? [])),
  )
})

app.get<Route>(`${tenantPath}/sales/purchased-vouchers/:id`, { schema: { params } }, async ({ params }, reply) => {
  const [row] = await sql<VoucherRow[]>`
    select ${voucherColumns} from gateway.voucher where tenant_id = ${params.tenant} and id = ${params.id}`
  return row ? { data: toVoucher(row) } : reply.callNotFound()
})

app.post<Route>(`${tenantPath}/redemptions/resolve`, { schema: { params, body } }, async (request, reply) => {
  const { tenant } = request.params
  const [row] = await sql<ResolutionRow[]>`
    select voucher.*, (now() at time zone time_zone)::date as today, tenant.name as tenant_name, tenant.type as tenant_type
    from gateway.voucher_entry record join public.purchased_voucher voucher using (id)
    join gateway.tenant on tenant.id = record.tenant_id
    where gateway.folded(gateway.trimmed(record.reference)) collate "C"
        = gateway.folded(gateway.trimmed(${request.body.voucher_reference})) and record.tenant_id = ${tenant}`
  return row ? { data: toResolution(row, ({ id }) => signToken(id, tenant, request.tokenId)) } : reply.callNotFound()
})

console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
// The service ends when the process that started it ends.
process.stdin.resume().on('end', () => process.exit())
