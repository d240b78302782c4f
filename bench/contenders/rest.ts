import { createHash } from 'node:crypto'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Place } from './cursor.ts'
import { readStart } from './cursor.ts'
import type { Pool } from './database.ts'

/** The token of a request. It may do everything: a contender has neither permissions nor grants. */
export interface Caller {
  id: number
}

/** The time that a token is cached, in milliseconds. */
const lifetime = 30_000

/** @returns a cached look-up of bearer tokens; it returns null for a request without a valid token */
function createBearer(sql: Pool): (authorization: string | undefined) => Promise<Caller | null> | Caller | null {
  const kept = new Map<string, { caller: Caller; until: number }>()
  const find = async (secret: string) => {
    const [caller] = await sql<Caller[]>`
      select id from gateway.token
      where token_hash = ${createHash('sha256').update(secret).digest()}
        and revoked_at is null and (expires_at is null or expires_at > now())`
    if (!caller) return null
    kept.set(secret, { caller, until: Date.now() + lifetime })
    return caller
  }
  return authorization => {
    if (!authorization?.startsWith('Bearer ')) return null
    const secret = authorization.slice('Bearer '.length)
    const found = kept.get(secret)
    return found && found.until > Date.now() ? found.caller : find(secret)
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    client: Caller
  }
}

/** A contender's operations. Each returns the text of a body, or null for 404. */
export interface Operations {
  vouchers(tenant: number, start: Place): Promise<string>
  products(tenant: number, start: Place): Promise<string>
  voucher(tenant: number, id: number): Promise<string | null>
  resolve(tenant: number, reference: string, caller: Caller): Promise<string | null>
}

interface Route {
  Params: { tenant: number; id: number }
  Querystring: { cursor?: string; updated_since?: string }
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

/** Serves v1's paths with a contender's operations. */
export async function serve(sql: Pool, operations: Operations): Promise<void> {
  const app: FastifyInstance = Fastify()
  const bearer = createBearer(sql)
  app.decorateRequest('client', null as unknown as Caller)
  app.addHook('onRequest', async (request, reply) => {
    const found = bearer(request.headers.authorization)
    const client = found instanceof Promise ? await found : found
    if (!client) return reply.code(401).send({ message: 'A valid bearer token is required.' })
    request.client = client
  })
  const tenantPath = '/api/external/v1/tenants/:tenant'
  const json = 'application/json; charset=utf-8'
  app.get<Route>(
    `${tenantPath}/sales/purchased-vouchers`,
    { schema: { params, querystring } },
    async ({ params, query }, reply) =>
      reply.type(json).send(await operations.vouchers(params.tenant, readStart(query.cursor, query.updated_since))),
  )
  app.get<Route>(
    `${tenantPath}/catalog/vouchers`,
    { schema: { params, querystring } },
    async ({ params, query }, reply) =>
      reply.type(json).send(await operations.products(params.tenant, readStart(query.cursor, query.updated_since))),
  )
  app.get<Route>(`${tenantPath}/sales/purchased-vouchers/:id`, { schema: { params } }, async ({ params }, reply) => {
    const found = await operations.voucher(params.tenant, params.id)
    return found === null ? reply.callNotFound() : reply.type(json).send(found)
  })
  app.post<Route & { Body: { voucher_reference: string } }>(
    `${tenantPath}/redemptions/resolve`,
    { schema: { params, body } },
    async ({ params, body, client }, reply) => {
      const found = await operations.resolve(params.tenant, body.voucher_reference, client)
      return found === null ? reply.callNotFound() : reply.type(json).send(found)
    },
  )
  console.log(await app.listen({ port: 0, host: '127.0.0.1' }))
  // The contender ends with the process that started it.
  process.stdin.resume().on('end', () => process.exit())
}
