/** A receiver of webhooks on this machine, which checks each signature with the reference library. */
import { readFileSync } from 'node:fs'
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { afterFile } from '../support/cleanups.ts'

export interface Received {
  at: number
  id: string
  timestamp: number
  /** The secrets for which the signature is valid. */
  validBy: string[]
  type: string
  tenant_id: number
  updated_since: string | null
  server_time: string
  url: string
  /** The status of the answer; null when no answer was sent. */
  status: number | null
}

/** Answers a request, and returns the status of the answer, or null when no answer was sent. */
export type Respond = (
  event: Received,
  response: ServerResponse,
  request: IncomingMessage,
) => number | null | Promise<number | null>

/** Returns a function that answers each request with this status. */
export const answerWith =
  (status: number, headers: OutgoingHttpHeaders = {}): Respond =>
  (_event, response) => {
    response.writeHead(status, headers).end()
    return status
  }

/** Closes the connection without an answer. */
export const breakConnection: Respond = (_event, response) => {
  response.destroy()
  return null
}

/** Starts a receiver. `respond` answers with 204 by default, and may be replaced at any time. */
export async function startReceiver() {
  const pem = readFileSync(join(import.meta.dirname, 'receiver.pem'))
  const received: Received[] = []
  const receiver = {
    url: '',
    secrets: [] as string[],
    respond: answerWith(204),
    received,
    /** The events that were answered with success, in the order of the answers. */
    delivered: () => received.filter(({ status }) => status !== null && status < 300),
    close: () => server.close(),
  }
  const server = createServer({ key: pem, cert: pem }, async (request, response) => {
    const body = await buffer(request)
    const headers = request.headers as Record<string, string>
    const validBy = receiver.secrets.filter(secret => {
      try {
        new Webhook(secret).verify(body, headers)
        return true
      } catch {
        return false
      }
    })
    const { 'webhook-id': id = '', 'webhook-timestamp': timestamp } = headers
    const event: Received = {
      ...{ at: Date.now(), id, timestamp: Number(timestamp), validBy, status: null },
      ...JSON.parse(body.toString()),
    }
    received.push(event)
    event.status = await receiver.respond(event, response, request)
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  receiver.url = `https://localhost:${(server.address() as AddressInfo).port}/hook`
  afterFile(() => {
    server.closeAllConnections()
    server.close()
  })
  return receiver
}
