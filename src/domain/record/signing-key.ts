/**
 * Reads, creates and rotates the keys that sign redemption tokens. The keys are in the database or in the configuration
 * (R26).
 */
import { createECDH, createHash, createPrivateKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import type { Sql } from '../../db/sql.ts'
import { type Actor, auditEntry } from '../administrator/audit.ts'

/** A public key as a JSON Web Key (RFC 7517, RFC 7518 §6.2). */
export interface PublicKey {
  kty: 'EC'
  crv: 'P-256'
  x: string
  y: string
  kid: string
  alg: 'ES256'
  use: 'sig'
}

interface SigningKey {
  privateKey: KeyObject
  publicKey: PublicKey
}

/** The current keys: the key that signs, and all published keys. */
export interface KeySet {
  signer: SigningKey
  published: readonly PublicKey[]
}

/** Creates a private key of the curve P-256: a scalar of 32 bytes. */
export function createPrivateScalar(): Buffer {
  const { d = '' } = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })
  return Buffer.from(d, 'base64url')
}

/**
 * Returns the signing key of a private scalar. The id of the key is its thumbprint (RFC 7638).
 *
 * @throws an error for a number that is no private key of P-256: zero, or not below the order of the curve
 */
export function toSigningKey(scalar: Buffer): SigningKey {
  const curve = createECDH('prime256v1')
  curve.setPrivateKey(scalar)
  const point = curve.getPublicKey()
  const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')]
  const key = { crv: 'P-256', kty: 'EC', x, y } as const
  const kid = createHash('sha256').update(JSON.stringify(key)).digest('base64url')
  const privateKey = createPrivateKey({ format: 'jwk', key: { ...key, d: scalar.toString('base64url') } })
  return { privateKey, publicKey: { ...key, kid, alg: 'ES256', use: 'sig' } }
}

/** Returns the key set of private scalars, of which the first signs. */
export function toKeySet([first, ...others]: readonly Buffer[]): KeySet {
  if (!first) throw new Error('There is no key to sign with.')
  const signer = toSigningKey(first)
  return { signer, published: [signer, ...others.map(toSigningKey)].map(({ publicKey }) => publicKey) }
}

/** The time for which a new key is published before it signs, in seconds: twice `maxAgeSeconds`. */
export const leadSeconds = 600

/** The maximum time for which an HTTP cache may keep the key set, in seconds. */
export const maxAgeSeconds = 300

/** Adds the first key to a database without a key. */
export async function createFirstKey(sql: Sql): Promise<void> {
  // When several instances start at the same time, only one of them adds a key.
  await sql`
    insert /* signing_key.create */ into gateway.signing_key (number, private_key, signs_from)
    select 1, ${createPrivateScalar()}, now() where not exists (select from gateway.signing_key)
    on conflict do nothing`
}

/** Returns the key set of the database. @throws an Error when the database has no key */
export async function readKeySet(sql: Sql): Promise<KeySet> {
  const rows = await sql<{ scalar: Buffer; signs: boolean }[]>`
    select /* signing_key.read */ private_key as scalar, signs_from <= now() as signs
    from gateway.signing_key order by number desc`
  const signer = rows.find(({ signs }) => signs) ?? rows.at(-1)
  const others = rows.filter(row => row !== signer)
  return toKeySet([...(signer ? [signer] : []), ...others].map(({ scalar }) => scalar))
}

/**
 * Adds a key. The key signs after it has been published for `leadSeconds`. Former keys stay published until their last
 * token has expired.
 *
 * @param isLost true when the former keys are no longer secret: then the former keys are deleted, and the new key signs
 * immediately
 * @returns the id of the new key
 */
export async function rotateKeys(sql: Sql, actor: Actor, isLost: boolean): Promise<string> {
  const scalar = createPrivateScalar()
  const { kid } = toSigningKey(scalar).publicKey
  const detail = JSON.stringify({ kid, isLost })
  await sql`
    with /* signing_key.rotate */ removed as (
      delete from gateway.signing_key where ${isLost}::boolean
    ), created as (
      insert into gateway.signing_key (number, private_key, signs_from)
      select coalesce(max(number), 0) + 1, ${scalar}, now() + ${isLost ? 0 : leadSeconds}::integer * interval '1 second'
      from gateway.signing_key
      returning number
    )
    ${auditEntry(sql, actor, 'signing_key.rotate', sql`null::bigint, ${detail}::text::jsonb from created`)}`
  return kid
}

/**
 * Deletes keys whose last token has expired. That is 25 hours after the next key began to sign: tokens are valid for
 * one day at most, and each instance reads the keys again within one hour.
 */
export async function deleteFormerKeys(sql: Sql): Promise<void> {
  await sql`
    delete /* signing_key.delete_former */ from gateway.signing_key
    where number < (select max(number) from gateway.signing_key where signs_from < now() - interval '25 hours')`
}
