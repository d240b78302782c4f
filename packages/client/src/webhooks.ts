/** Reads the webhooks of the token over GraphQL. */
import { array, instant, nullable, object, parse, text } from './check.ts'
import { Webhooks } from './documents.ts'
import { runQuery } from './graphql.ts'
import type { CallOptions, Transport } from './transport.ts'

/** A URL to which the service sends events of the lists of the token. */
export interface Webhook {
  url: string
  /**
   * `ACTIVE`, `FAILING` when the last delivery failed, or `PAUSED`. Later versions of the service can send other
   * states.
   */
  state: string
  /** The time of the first failed delivery after the last success; null unless the last delivery failed. */
  failingSince: string | null
  /** The time at which the webhook was paused; null when it is not paused. */
  pausedAt: string | null
  /** All changes up to this time were delivered to the webhook. */
  deliveredTo: string
}

const webhook = object<Webhook>({
  url: text,
  state: text,
  failingSince: nullable(instant),
  pausedAt: nullable(instant),
  deliveredTo: instant,
})

const responseCheck = object({ data: object({ viewer: object({ webhooks: array(webhook) }) }) })

/** Returns all webhooks of the token, with their delivery states. */
export async function readWebhooks(transport: Transport, options: CallOptions): Promise<Webhook[]> {
  const { body, requestId } = await runQuery(transport, Webhooks, {}, options)
  return parse(responseCheck, body, requestId).data.viewer.webhooks
}
