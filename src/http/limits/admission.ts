import { EventEmitter, once } from 'node:events'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { OverloadError } from '../errors.ts'
import { hasBody } from '../text-body.ts'

/**
 * The maximum share of requests under way that may be for one operation. By default this is 120 requests, as many as a
 * token may send in a minute.
 */
const maxShareOfOperation = 0.75

/**
 * Refuses requests of a scope with `UNAVAILABLE`, before any other work, while the service has too many requests. The
 * limit is `max` requests under way, and three quarters of `max` for one operation, so that operations that wait for a
 * locked table leave room for other operations. The scope must have `holdRefusal`.
 *
 * @returns a function that waits until no request is under way, for at most a limit in milliseconds
 */
export function limitRequests(scope: FastifyInstance, max: number): (limit: number) => Promise<void> {
  const maxOfOperation = Math.ceil(max * maxShareOfOperation)
  const activeOf = new Map<string, number>()
  const events = new EventEmitter()
  let active = 0
  let refused = 0

  function count(operation: string, change: 1 | -1): void {
    activeOf.set(operation, (activeOf.get(operation) ?? 0) + change)
    active += change
    if (active === 0) events.emit('idle')
  }

  const hasRoom = (operation: string) => active < max && (activeOf.get(operation) ?? 0) < maxOfOperation

  function report(): void {
    scope.log.warn({ refused, active }, 'overloaded: requests were answered with 503')
    refused = 0
  }

  function refuse({ raw }: FastifyRequest, reply: FastifyReply, done: (error: Error) => void): void {
    if (refused++ === 0) setTimeout(report, 1000).unref()
    scope.holdRefusal(() => {
      // The deadline has passed, or the caller has disconnected.
      if (!reply.sent && !raw.socket.destroyed) done(new OverloadError())
    })
  }

  scope.decorateRequest('admitted')
  scope.decorateRequest('endAdmission', function () {
    const { admitted } = this
    if (!admitted || admitted.arriving) return
    this.admitted = undefined
    count(admitted.operation, -1)
  })
  scope.addHook('onRequest', (request, reply, done) => {
    const { operation = '' } = request.routeOptions.config
    if (!hasRoom(operation)) {
      refuse(request, reply, done)
      return
    }
    count(operation, 1)
    request.admitted = { operation, arriving: false }
    done()
  })
  // A request does not count while its body arrives, so that a slow caller does not delay other callers.
  scope.addHook('preParsing', (request, _reply, payload, done) => {
    const { admitted, raw } = request
    if (admitted && hasBody(request)) {
      // When a body arrives together with its head, Node parses the body after the hooks. Such a request is counted
      // without a pause.
      setImmediate(() => {
        if (raw.complete !== false || !request.admitted) return
        admitted.arriving = true
        count(admitted.operation, -1)
      })
    }
    done(null, payload)
  })
  // Fastify does not run this hook when the deadline has answered the request.
  scope.addHook('preValidation', (request, reply, done) => {
    const { admitted } = request
    if (!admitted?.arriving) {
      done()
    } else if (hasRoom(admitted.operation)) {
      admitted.arriving = false
      count(admitted.operation, 1)
      done()
    } else {
      // Checks the limit again, because many slow bodies may end at the same time. The rate limit has already counted a
      // request that is refused here.
      refuse(request, reply, done)
    }
  })
  scope.addHook('onSend', (request, _reply, payload, done) => {
    request.endAdmission?.()
    done(null, payload)
  })
  return async limit => {
    if (active > 0) await once(events, 'idle', { signal: AbortSignal.timeout(limit) }).catch(() => {})
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Set while the request is under way; `arriving` while its body arrives. A request in this state is not counted.
     */
    admitted?: { operation: string; arriving: boolean } | undefined
    /** Ends the admission of a request whose answer is ready. */
    endAdmission?(): void
  }
}
