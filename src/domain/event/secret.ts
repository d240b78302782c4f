/** The secrets of endpoints, with which receivers check signatures (Standard Webhooks 1.0). None is stored. */
import { createHmac, hkdfSync } from 'node:crypto'

/** Returns the secret of a version of an endpoint, from the key of the service (RFC 5869). */
const secretBytes = (key: Buffer, endpointId: number, version: number): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `webhook endpoint ${endpointId} version ${version}`, 32))

/** Returns the secret as receivers configure it: `whsec_` and Base64. */
export const webhookSecret = (key: Buffer, endpointId: number, version: number): string =>
  `whsec_${secretBytes(key, endpointId, version).toString('base64')}`

/** The secrets of an endpoint that sign: the present secret and, for a day after a rotation, the former secret. */
export interface EndpointSecrets {
  id: number
  secretVersion: number
  formerSigns: boolean
}

/**
 * Returns the headers of a delivery.
 *
 * @param sentAt the time of this try, in seconds since 1970
 * @param body the bytes that are sent, as text
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
