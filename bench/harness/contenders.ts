/** Programs that answer the same requests: finds their requests, and compares their answers. */
import { equal } from 'node:assert/strict'
import { type Body, type HttpRequest, send, type Transport, type Variables } from './operations.ts'
import type { Running } from './processes.ts'
import { logProgress } from './report.ts'
import type { Requests, Subject } from './rounds.ts'

/** Requests of one kind, sent in turn. */
export interface Call {
  name: string
  /** The name of an operation of v1. */
  operation: string
  samples: Variables[]
  /** True: the page after the sample's page is requested, with the cursor of the sample's page. */
  afterCursor?: boolean
}

/** A running program, and the transport by which requests reach it. */
export interface Contender extends Subject, Running {
  transport: Transport
}

/** The number of answers of each call that are compared. */
const comparedAnswerCount = 24

/**
 * Finds the requests of all calls, and compares the answers with those of the first contender.
 *
 * @returns the requests of the calls that all contenders answer equally, and the names of all other calls
 */
export async function prepareRequests(calls: Call[], contenders: Contender[]) {
  const requests: Requests = new Map()
  const differing: string[] = []
  for (const call of calls) {
    try {
      const ofCall = new Map<Contender, HttpRequest[]>()
      for (const contender of contenders) ofCall.set(contender, await requestsOf(contender, call))
      requests.set(call.name, ofCall)
      logProgress(`${call.name}: the same ${await compareAnswers(call, ofCall)} records`)
    } catch (error) {
      logProgress(`${call.name}: ${error instanceof Error ? error.message : error}`)
      differing.push(call.name)
    }
  }
  return { requests, differing }
}

/**
 * @returns a contender's requests for a call. Cursors come from the contender itself, because each contender has its
 * own format
 */
async function requestsOf({ origin, transport }: Contender, call: Call): Promise<HttpRequest[]> {
  const requests: HttpRequest[] = []
  // The requests run one after the other, because a service that has just started refuses a burst of requests.
  for (const sample of call.samples) {
    const request = transport.request(call.operation, sample)
    const { next_cursor: cursor } = call.afterCursor ? transport.read(await send(origin, request)) : {}
    const { updated_since: _, ...next } = sample
    requests.push(typeof cursor === 'string' ? transport.request(call.operation, { ...next, cursor }) : request)
  }
  return requests
}

/**
 * Compares the answers to some requests.
 *
 * @returns the number of records that were compared
 * @throws at the first difference, or when the answers hold no records
 */
async function compareAnswers({ samples }: Call, requests: Map<Contender, HttpRequest[]>): Promise<number> {
  const step = Math.max(1, Math.floor(samples.length / comparedAnswerCount))
  let records = 0
  for (let sample = 0; sample < samples.length; sample += step) {
    let first: Body | undefined
    for (const [{ name, origin, transport }, sent] of requests) {
      const body = transport.read(await send(origin, sent[sample]!))
      first ??= body
      if (body === first) records += Array.isArray(body.data) ? body.data.length : 1
      const [actual, expected] = [body, first].map(each => toComparableText(each, transport.omitsNull))
      if (actual !== expected) logProgress(`${name} answers request ${sample} differently`)
      equal(actual, expected)
    }
  }
  if (records === 0) throw new Error('the answers hold no records to compare')
  return records
}

/**
 * @returns a body's text, in which only the type remains of parts that differ in each answer, and only the form of
 * stamps
 */
function toComparableText(body: Body, withNull: boolean): string {
  const replace = (key: string, value: unknown) => {
    if (value === null) return withNull ? null : undefined
    if (['next_cursor', 'server_time', 'redemption_token'].includes(key)) return typeof value
    return key === 'updated_at' ? String(value).replace(/\d/g, '0') : value
  }
  return JSON.stringify(body, replace, 1)
}
