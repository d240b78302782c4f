import { equal } from 'node:assert/strict'
import type { Body } from '../harness/contract.ts'
import { type HttpRequest, send } from '../harness/operations.ts'
import { logProgress } from '../harness/report.ts'
import type { Call } from './calls.ts'
import type { Contender } from './contenders.ts'

/** The number of requests of each call that are compared. */
const compared = 24

/**
 * @param withNull false leaves out fields that are null: over GraphQL, fields that v1 omits are null
 * @returns a body's text without the parts that differ in each answer: times, cursors and redemption tokens
 */
function comparable({ next_cursor: cursor, server_time: time, ...body }: Body, withNull: boolean): string {
  const replace = (key: string, value: unknown) => {
    if (value === null && !withNull) return undefined
    return key === 'redemption_token' ? typeof value : value
  }
  return JSON.stringify({ ...body, next_cursor: typeof cursor, server_time: typeof time }, replace, 1)
}

/**
 * Sends the same requests to all contenders, and compares their answers with the answers of the first contender, v1.
 *
 * @param requests each contender's, in the same order
 * @returns the number of records that were compared
 * @throws at the first difference, or when the answers hold no records
 */
export async function compareAnswers(call: Call, requests: Map<Contender, HttpRequest[]>): Promise<number> {
  const total = call.samples.length
  const step = Math.max(1, Math.floor(total / compared))
  let records = 0
  for (let sample = 0; sample < total; sample += step) {
    let first: Body | undefined
    for (const [{ name, origin, transport }, sent] of requests) {
      const body = transport.read(call.operation, JSON.parse(await send(origin, sent[sample]!)))
      first ??= body
      if (first === body) records += Array.isArray(body.data) ? body.data.length : 1
      const [expected, actual] = [first, body].map(each => comparable(each, name !== 'graphql'))
      if (actual !== expected) logProgress(`${call.name}, request ${sample}: ${name} and v1 answer differently`)
      equal(actual, expected)
    }
  }
  if (records === 0) throw new Error(`${call.name}: the answers hold no records to compare.`)
  return records
}
