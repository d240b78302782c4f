/** Reads the results of a subscription from an event stream, by the protocol of graphql-sse. */
import type { Answer } from './answer-error.ts'
import { parseJson } from './json.ts'
import { type GatewayRequest, requireBounded, type Transport } from './transport.ts'

/**
 * When no byte arrives for this time, the stream counts as broken; in milliseconds. The service sends its position at
 * least every 10 s.
 */
const longestSilence = 40_000

const lineEnd = /\r\n|\n|\r(?!$)/

/**
 * Yields the results as they arrive, until the stream ends.
 *
 * @throws VoucherGatewayError, or the reason of the signal
 */
export async function* readEvents(transport: Transport, request: GatewayRequest): AsyncGenerator<Answer, void> {
  let text = ''
  let data: string[] = []
  for await (const part of transport.read({ ...request, accept: 'text/event-stream', timeoutMs: longestSilence })) {
    const { requestId, headers } = part
    const lines = (text + part.text).split(lineEnd)
    text = lines.pop() ?? ''
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice('data:'.length))
      if (line !== '') continue
      // The event `complete` has no data.
      const event = data.join('\n').trim()
      data = []
      if (event !== '') yield { body: parseJson(event), requestId, headers }
    }
    requireBounded(
      data.reduce((sum, { length }) => sum + length, text.length),
      requestId,
    )
  }
}
