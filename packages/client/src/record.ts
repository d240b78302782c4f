/** Single records. */
import { type Check, object, parse } from './check.ts'
import type { GatewayRequest, Transport } from './transport.ts'

/** Reads one record of v1. */
export async function readRecord<T>(transport: Transport, request: GatewayRequest, check: Check<T>): Promise<T> {
  const { body, requestId } = await transport.send(request)
  return parse(object<{ data: T }>({ data: check }), body, requestId).data
}

/**
 * Returns an id as a segment of a path.
 *
 * @throws TypeError when JavaScript code passes another value, such as `..`
 */
export function pathId(value: number): string {
  if (Number.isSafeInteger(value) && value > 0) return String(value)
  throw new TypeError('An id must be a positive whole number, for example 7.')
}
