/** The messages that `listen` posts, signed by Standard Webhooks. */
import { createHmac, randomUUID } from 'node:crypto'
import { tenantLists } from '#client'
import type { ListName } from '../lists.ts'

/** A list that changed, until its message is accepted. */
export interface Pending {
  tenantId: number
  list: ListName
  /** The receiver has the list up to this time; null when it must read the list from its beginning. */
  since: string | null
  /** The time up to which the message names the changes. */
  serverTime: string
  /**
   * The number of the reading of all lists to which the message belongs. A message of an earlier reading does not end a
   * later reading.
   */
  pass: number
  /** The id of the message. A later change of the list gives the message another id. */
  id: string
}

/** Creates the id of a message. */
export const createId = () => `msg_${randomUUID()}`

/** Returns the key of a secret `whsec_…`; null when it is no secret of 24 to 64 bytes. */
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

/** Returns the headers that sign a body now. */
export function sign(key: Buffer, id: string, body: string): Record<string, string> {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64')
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` }
}
