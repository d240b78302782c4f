import type { FastifyInstance } from 'fastify'
import { hasBody } from './deadline.ts'
import { OverloadError } from './errors.ts'
import { createTurns } from './turns.ts'

/** How an answer counts as slow, in milliseconds: an operation whose answers are slower gets fewer requests at once. */
const slowMs = 500

/** For how long all answers of an operation are slow before its limit is reduced, in milliseconds: a burst is no overload. */
const overloadMs = 500

/** The least time between two reductions of an operation's limit, in milliseconds. */
const reductionPauseMs = 100

/** After how long without a request an operation has its whole limit again, in milliseconds. */
const restMs = 1_000

/** What a reduction leaves of the requests that were under way. */
const reductionFactor = 0.8

/** An operation can always have this many requests under way. */
const minPerOperation = 8

/** The requests of one operation. */
interface Operation {
  active: number
  limit: number
  reducedAt: number
  /** When an answer last was quick, or the first of these requests began. */
  quickAt: number
  endedAt: number
}

/** A request that may begin. */
interface Admitted {
  operation: Operation
  /** When it began, as `performance.now()`. */
  at: number
  /** Whether its body is arriving: it does not count as under way. */
  arriving: boolean
}

/** What is under way. */
export interface Admission {
  /** Whether a request has to be refused, which is then counted; a late one unless there is next to nothing to do. */
  isFull(isLate: boolean): boolean
  /** Waits until no request is under way, for at most a limit in milliseconds. */
  whenIdle(limit: number): Promise<void>
}

/**
 * Refuses requests of a scope with `UNAVAILABLE`, before any other work, while the service has more than it can answer
 * soon: when `max` requests are under way, or when those of their operation have reached its own limit. That is half of
 * `max`. It falls while all answers of the operation take longer than 0.5 s, and rises with each quicker one (additive
 * increase, multiplicative decrease), so a locked table does not hold up the operations that do not need it.
 *
 * @param max the most requests under way
 */
export function limitRequests(scope: FastifyInstance, max: number): Admission {
  const perOperation = Math.max(minPerOperation, Math.ceil(max / 2))
  const operations = new Map<string, Operation>()
  const runInTurn = createTurns()
  const idle = new Set<() => void>()
  let active = 0
  let refused = 0

  function operationOf(name: string): Operation {
    let operation = operations.get(name)
    if (!operation) {
      operation = { active: 0, limit: perOperation, reducedAt: 0, quickAt: 0, endedAt: 0 }
      operations.set(name, operation)
    }
    return operation
  }

  function begin(operation: Operation, now: number): void {
    if (operation.active === 0) {
      if (now - operation.endedAt > restMs) operation.limit = perOperation
      operation.quickAt = now
    }
    operation.active++
    active++
  }

  function end(operation: Operation, now: number): void {
    operation.endedAt = now
    operation.active--
    active--
    if (active === 0) for (const resume of idle) resume()
  }

  /** Adapts the limit of an operation to the time that an answer took, while the answer still counts as under way. */
  function adapt(operation: Operation, took: number, now: number): void {
    if (took <= slowMs) {
      operation.quickAt = now
      if (operation.limit < perOperation && operation.active >= operation.limit / 2) operation.limit++
    } else if (now - operation.quickAt > overloadMs && now - operation.reducedAt > reductionPauseMs) {
      const reduced = Math.floor(Math.min(operation.limit, operation.active) * reductionFactor)
      operation.limit = Math.max(minPerOperation, reduced)
      operation.reducedAt = now
    }
  }

  const hasRoom = (operation: Operation) => active < max && operation.active < operation.limit

  function report(): void {
    scope.log.warn({ refused, active }, 'overloaded: requests were answered with 503')
    refused = 0
  }

  function refuse(): void {
    if (refused++ === 0) setTimeout(report, 1000).unref()
  }

  scope.decorateRequest('admitted')
  scope.decorateRequest('endAdmission', function () {
    const { admitted } = this
    if (!admitted || admitted.arriving) return
    this.admitted = undefined
    end(admitted.operation, performance.now())
  })
  scope.addHook('onRequest', (request, reply, done) => {
    const now = performance.now()
    const operation = operationOf(request.routeOptions.config.operation ?? '')
    if (!hasRoom(operation)) {
      refuse()
      done(new OverloadError())
      return
    }
    begin(operation, now)
    request.admitted = { at: now, operation, arriving: false }
    runInTurn(() => {
      // The deadline has passed, or the caller is gone.
      if (reply.sent) return
      if (request.raw.destroyed) {
        request.admitted = undefined
        end(operation, now)
      } else {
        done()
      }
    })
  })
  // While its body arrives a request needs nothing, and a caller that is slow must not hold up the others.
  scope.addHook('preParsing', (request, _reply, payload, done) => {
    const { admitted, raw } = request
    if (admitted && hasBody(request)) {
      // Node parses a body that came with its head after the hooks: such a request keeps its place.
      setImmediate(() => {
        if (raw.complete !== false || !request.admitted) return
        admitted.arriving = true
        end(admitted.operation, performance.now())
      })
    }
    done(null, payload)
  })
  // Fastify does not run it when the deadline has answered the request.
  scope.addHook('preValidation', (request, _reply, done) => {
    const { admitted } = request
    if (!admitted?.arriving) {
      done()
      return
    }
    // Bodies that were held back may all end at once. Such a call has been counted by its rate.
    if (!hasRoom(admitted.operation)) {
      refuse()
      done(new OverloadError())
      return
    }
    admitted.at = performance.now()
    admitted.arriving = false
    begin(admitted.operation, admitted.at)
    done()
  })
  scope.addHook('onSend', (request, _reply, payload, done) => {
    const { admitted } = request
    if (admitted && !admitted.arriving) {
      request.admitted = undefined
      const now = performance.now()
      adapt(admitted.operation, now - admitted.at, now)
      end(admitted.operation, now)
    }
    done(null, payload)
  })
  return {
    isFull(isLate) {
      const full = active >= max || (isLate && active >= minPerOperation)
      if (full) refuse()
      return full
    },
    whenIdle(limit) {
      if (active === 0) return Promise.resolve()
      return new Promise(resolve => {
        const resume = () => {
          clearTimeout(timer)
          idle.delete(resume)
          resolve()
        }
        const timer = setTimeout(resume, limit)
        idle.add(resume)
      })
    },
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set from its admission to its answer. */
    admitted?: Admitted | undefined
    /** Ends the admission of a request of which nothing but its answer is left. */
    endAdmission?(): void
  }
}
