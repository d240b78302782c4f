/** The secrets of endpoints, with which receivers check signatures (Standard Webhooks 1.0). None is stored. */
import { createHmac, hkdfSync } from 'node:crypto'

/** Derives the secret of an endpoint, in one of its versions, from the key of the service (HKDF, RFC 5869). */
const secretBytes = (key: Buffer, endpointId: number, version: number): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `webhook endpoint ${endpointId} version ${version}`, 32))

/** Returns the secret in the format that receivers configure: `whsec_` and Base64. */
export const webhookSecret = (key: Buffer, endpointId: number, version: number): string =>
  `whsec_${secretBytes(key, endpointId, version).toString('base64')}`

/**
 * The secrets with which deliveries to an endpoint are signed: the current secret and, for a day after a rotation, also
 * the former secret.
 */
export interface EndpointSecrets {
  id: number
  secretVersion: number
  formerSigns: boolean
}

/**
 * Returns the signed headers of a delivery (Standard Webhooks 1.0).
 *
 * @param sentAt the time of this try, in seconds since 1970
 * @param body the body that is sent, as text
 */
export function signedHeaders(key: Buffer, endpoint: EndpointSecrets, messageId: string, sentAt: number, body: string) {
  const { id, secretVersion, formerSigns } = endpoint
  const versions = formerSigns ? [secretVersion, secretVersion - 1] : [secretVersion]
  const content = `${messageId}.${sentAt}.${body}`
  const sign = (version: number) =>
    createHmac('sha256', secretBytes(key, id, version))
      .update(content)
      .digest('base64')
  return {
    'webhook-id': messageId,
    'webhook-timestamp': String(sentAt),
    'webhook-signature': versions.map(version => `v1,${sign(version)}`).join(' '),
  }
}
