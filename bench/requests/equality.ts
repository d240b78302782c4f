import type { Body } from '../harness/contract.ts'
import { type HttpRequest, send } from '../harness/operations.ts'
import type { Call } from './calls.ts'
import type { Contender } from './contenders.ts'

/** The number of requests of each call that are compared. */
const compared = 24

/** @returns a body's text without the parts that differ in each answer: times, cursors and redemption tokens */
function comparable({ next_cursor: cursor, server_time: _, ...body }: Body): string {
  const isIssued = (key: string, value: unknown) => (key === 'redemption_token' ? typeof value : value)
  return JSON.stringify({ ...body, next_cursor: typeof cursor }, isIssued)
}

/** @returns the first difference of two texts, with its surroundings */
function difference(one: string, other: string): string {
  let at = 0
  while (at < one.length && one[at] === other[at]) at++
  const around = (text: string) => text.slice(Math.max(0, at - 120), at + 80)
  return `\n  ${around(one)}\n  ${around(other)}`
}

/**
 * Sends the same requests to all contenders, and compares their answers with the first one's answers.
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
    let first: { name: string; text: string } | undefined
    for (const [{ name, origin, transport }, sent] of requests) {
      const body = transport.read(call.operation, JSON.parse(await send(origin, sent[sample]!)))
      const text = comparable(body)
      if (!first) {
        first = { name, text }
        records += Array.isArray(body.data) ? body.data.length : 1
      } else if (first.text !== text) {
        throw new Error(
          `${call.name}, request ${sample}: ${name} and ${first.name} answer differently:${difference(first.text, text)}`,
        )
      }
    }
  }
  if (records === 0) throw new Error(`${call.name}: the answers hold no records to compare.`)
  return records
}
