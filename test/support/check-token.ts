import { createLocalJWKSet, type JWTPayload, type JWTVerifyResult, jwtVerify } from 'jose'
import type { Client } from './app.ts'

/**
 * Checks the signature and the expiry of a redemption token with the keys that a service publishes. @throws errors of
 * jose
 */
export async function checkToken({ ask }: Pick<Client, 'ask'>, token: string): Promise<JWTVerifyResult<JWTPayload>> {
  const { body } = await ask({ url: '/.well-known/jwks.json' })
  return jwtVerify(token, createLocalJWKSet(body), { algorithms: ['ES256'] })
}
