import { createServer } from 'node:http'
import { json } from 'node:stream/consumers'
import { createRemoteJWKSet, errors, jwtVerify } from 'jose'
import postgres from 'postgres'

// ISSUER is the address of the gateway. A platform with several tills takes the tenant from the sign-in of the till.
const { ISSUER = '', TENANT_ID = '', PORT = '8090' } = process.env
// The key set allows caches five minutes (max-age), so after five minutes a removed key is refused.
const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', ISSUER), { cacheMaxAge: 300_000 })
// Errors of the key set. They are not faults of the token.
const unreadable = ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID']
// Reads PGHOST, PGPORT, PGUSER, PGPASSWORD and PGDATABASE, as psql does.
const sql = postgres({ onnotice: () => {} })
await sql`
  create table if not exists redemption (
    jti text primary key, voucher_id bigint not null, amount numeric, redeemed_at timestamptz not null default now())`

class Refusal extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message)
  }
}

async function checkToken(token: string) {
  const options = {
    algorithms: ['ES256'],
    issuer: ISSUER,
    audience: 'redemption',
    requiredClaims: ['exp', 'jti', 'sub'],
  }
  const { payload } = await jwtVerify(token, keys, options).catch(error => {
    if (error instanceof errors.JWTExpired)
      throw new Refusal(401, 'The resolution is too old. Resolve the voucher again.')
    if (!(error instanceof errors.JOSEError) || unreadable.includes(error.code)) throw error
    throw new Refusal(401, 'The token is not valid. Resolve the voucher again.')
  })
  if (payload.tenant_id !== Number(TENANT_ID)) throw new Refusal(401, 'The token is for another tenant.')
  return { jti: String(payload.jti), voucherId: String(payload.sub), ownerId: Number(payload.owner_id) }
}

/** Redeems an amount. Null redeems the whole balance. A refusal rolls the transaction back: the token stays unused. */
async function redeem(token: string, amount: string | null) {
  if (amount !== null && !/^(?!0*\.?0*$)\d{1,9}(\.\d{1,2})?$/.test(amount))
    throw new Refusal(422, 'The amount is not valid.')
  const { jti, voucherId, ownerId } = await checkToken(token)
  return sql.begin(async sql => {
    const { count } = await sql`
      insert into redemption (jti, voucher_id, amount) values (${jti}, ${voucherId}, ${amount}) on conflict do nothing`
    if (count === 0) throw new Refusal(409, 'The token was used before.')
    const [voucher] = await sql`
      select case
          when void then 'The voucher was made void.'
          when lower(redemption_status) = 'redeemed' or current_balance <= 0 then 'Nothing is left on the voucher.'
          when today < date_valid_start or today > date_valid_end then 'The voucher is not valid today.'
          when ${amount}::numeric > coalesce(current_balance, 0) then 'Less than that is left on the voucher.'
          when ${amount}::numeric < current_balance and not allow_part_redeem then 'The voucher is redeemed as a whole only.'
        end as problem
      from purchased_voucher voucher join tenant on tenant.id = tenant_id
      cross join lateral (select (now() at time zone time_zone)::date as today) clock
      where voucher.id = ${voucherId} and tenant_id = ${ownerId} for update of voucher`
    if (!voucher) throw new Refusal(404, 'The voucher is gone.')
    if (voucher.problem) throw new Refusal(409, voucher.problem)
    const [redeemed] = await sql`
      update purchased_voucher set current_balance = current_balance - coalesce(${amount}::numeric, current_balance),
        redemption_status = case when ${amount}::numeric < current_balance then 'partially_redeemed' else 'redeemed' end
      where id = ${voucherId} returning reference, current_balance::float8, currency`
    return redeemed
  })
}

createServer(async (request, response) => {
  const answer = (status: number, body: object | undefined) =>
    response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body))
  try {
    if (request.method !== 'POST' || request.url !== '/redeem') throw new Refusal(404, 'Send POST /redeem.')
    const { redemption_token: token, amount } = Object(await json(request))
    answer(200, await redeem(String(token), amount == null ? null : String(amount)))
  } catch (error) {
    if (!(error instanceof Refusal)) console.error(error)
    const [status, message] = error instanceof Refusal ? [error.status, error.message] : [500, 'Try again.']
    answer(status, { message })
  }
}).listen(Number(PORT), '127.0.0.1')
