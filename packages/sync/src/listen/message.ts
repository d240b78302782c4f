/** Creates and signs the messages that `listen` posts, by the specification Standard Webhooks. */
import { createHmac, randomUUID } from 'node:crypto'
import { tenantLists } from '#client'
import type { ListName } from '../lists.ts'

/** A changed list whose message the receiver has not accepted yet. */
export interface Pending {
  tenantId: number
  list: ListName
  /**
   * The receiver has all changes of the list up to this time; null when the receiver must read the list from its
   * beginning.
   */
  since: string | null
  /** The message includes all changes up to this time. */
  serverTime: string
  /**
   * Counts how often all lists had to be read from their beginning. When the receiver accepts a message with an earlier
   * number, the list must still be read from its beginning.
   */
  pass: number
  /** The id of the message. A later change of the list gives the message another id. */
  id: string
}

/** Creates the id of a message. */
export const createId = () => `msg_${randomUUID()}`

/** Returns the key of a secret `whsec_…`; null when the text is not a secret of 24 to 64 bytes. */
export function keyOf(secret: string): Buffer | null {
  const [, text] = /^whsec_([A-Za-z\d+/]+={0,2})$/.exec(secret) ?? []
  const key = Buffer.from(text ?? '', 'base64')
  return key.length >= 24 && key.length <= 64 ? key : null
}

/** Returns the type of a message, such as `purchased_vouchers.changed`. */
export const messageType = ({ list }: Pick<Pending, 'list'>): string =>
  list === 'tenants' ? 'tenants.changed' : tenantLists[list].event

/** Returns the body of a message. @param service the address of the service */
export function toBody(pending: Pending, service: string): string {
  const { tenantId, list, since, serverTime } = pending
  const path = list === 'tenants' ? 'tenants' : `tenants/${tenantId}/${tenantLists[list].path}`
  const query = since === null ? '' : `?updated_since=${encodeURIComponent(since)}`
  return JSON.stringify({
    type: messageType(pending),
    tenant_id: tenantId,
    updated_since: since,
    server_time: serverTime,
    url: `${service}/api/external/v1/${path}${query}`,
  })
}

/** Returns the headers of a message, with a signature of the body and the current time. */
export function sign(key: Buffer, id: string, body: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
