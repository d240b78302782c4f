/** `extensions.cost` of a response: what the request costs in quota units (R28, R29). */
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callsLeft, secondsLeft } from '../domain/rate/rate.ts'
import type { Caller } from '../domain/token/caller.ts'
import { writeRateHeaders } from '../http/caller.ts'

/** Returns the cost of a request that has been executed or rejected. */
export const reportCost = ({ requestedCost, cost, rejectedCost, rate, window }: Caller) => ({
  /** The highest possible cost of the document with its variables; 1 when it does not run. */
  requested: requestedCost,
  /** The quota units that the request was charged for. */
  actual: Math.max(1, cost - rejectedCost),
  // As in the rate headers: the quota units left in the window, and the seconds until it ends.
  remaining: callsLeft(rate.limit, window),
  resetsIn: secondsLeft(window),
})

/** Writes the rate headers again when quota units were counted after the first one (R29). */
export function writeSpentRate({ caller }: FastifyRequest, reply: FastifyReply): void {
  const { rate, window, cost } = caller
  if (cost > 1) writeRateHeaders(reply, rate.limit, window)
}

/**
 * Adds the cost to the body of a request that failed before it was executed. A request that exceeds the rate is not
 * charged. A request without a valid token has no cost.
 */
export function addCost(request: FastifyRequest, reply: FastifyReply, body: object): object {
  const { caller } = request
  if (caller) {
    writeSpentRate(request, reply)
    return { ...body, extensions: { cost: reportCost(caller) } }
  }
  const [remaining, resetsIn] = ['RateLimit-Remaining', 'RateLimit-Reset'].map(name => Number(reply.getHeader(name)))
  if (!reply.hasHeader('RateLimit-Remaining')) return body
  return { ...body, extensions: { cost: { requested: 1, actual: 0, remaining, resetsIn } } }
}
