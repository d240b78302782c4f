import { generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import type { Caller } from './rest.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
const header = encode({ alg: 'ES256', typ: 'JWT', kid: randomBytes(32).toString('base64url') })

/** Signs a redemption token as the service does. */
export function signToken(voucher: number, tenant: number, caller: Caller): string {
  const iat = Math.floor(Date.now() / 1000)
  const claims = {
    iss: 'http://localhost:8080',
    aud: 'redemption',
    sub: String(voucher),
    voucher_id: voucher,
    owner_id: tenant,
    tenant_id: tenant,
    token_id: caller.id,
    jti: randomBytes(16).toString('base64url'),
    iat,
    exp: iat + 900,
  }
  const content = `${header}.${encode(claims)}`
  const signature = sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${content}.${signature.toString('base64url')}`
}
