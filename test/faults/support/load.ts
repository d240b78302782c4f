/** Callers that send requests all the time and record the answers. */
import { Agent, type IncomingHttpHeaders, type RequestOptions, request } from 'node:http'
import { request as requestByTls } from 'node:https'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { until } from '../../support/until.ts'
import { callLimit } from './form.ts'
import type { Operation, World } from './world.ts'

export interface Exchange {
  /** 0 when the connection was refused or lost. */
  status: number
  headers: IncomingHttpHeaders
  text: string
  /** The code of the error; only with status 0. */
  error?: string
  /** The time from the request to the end of the answer, in milliseconds. */
  took: number
  /** True when the request used a connection on which an earlier request was answered. */
  reused: boolean
}

/** A call. The status of a GraphQL answer with errors is the status that REST uses for these errors. */
export interface Call extends Omit<Exchange, 'headers' | 'text'> {
  name: string
  /** The time at which the request was sent, as `performance.now()`. */
  sent: number
  retryAfter: string | undefined
  /** True when the answer contains a record of a tenant other than the caller's. */
  isForeign: boolean
  /** True when the body of the answer is complete and has the expected form. */
  isWhole: boolean
}

export const withoutRetryAfter = (calls: readonly Call[]): Call[] =>
  calls.filter(({ status, retryAfter }) => status === 503 && !/^[1-9]\d*$/.test(retryAfter ?? ''))

/** Expects that each call was answered in time, with 200, or with 503 and `Retry-After`. */
export function expectBounded(calls: readonly Call[], summary?: string): void {
  expect(
    calls.filter(({ status }) => status !== 200 && status !== 503),
    summary,
  ).toEqual([])
  expect(withoutRetryAfter(calls)).toEqual([])
  expect(Math.max(...calls.map(({ took }) => took)), summary).toBeLessThan(callLimit)
}

export type Load = ReturnType<typeof startLoad>

/**
 * Starts callers that repeat all operations of v1 and one of GraphQL. The tenants take turns: each caller uses one
 * tenant.
 *
 * @param callers the number of callers, which each wait for the answer before the next request
 * @param agent opens their connections
 */
export function startLoad(origin: () => string, world: World, callers = 16, agent = new Agent({ keepAlive: true })) {
  const calls: Call[] = []
  let stopped = false
  const running = Array.from({ length: callers }, async (_, client) => {
    const owner = world.owners[client % world.owners.length]
    if (!owner) throw new Error('There is no tenant.')
    for (let turn = client; !stopped; turn++) {
      const operation = owner.operations[turn % owner.operations.length]
      if (!operation) throw new Error('There is no operation.')
      const call = await send(agent, origin(), operation, owner.tenantId)
      calls.push(call)
      // The pause keeps a caller from repeating a refused connection without end.
      if (call.status !== 200) await pause(20)
    }
  })
  return {
    calls,
    /** Waits until `count` more calls have succeeded. */
    async succeed(count: number) {
      const from = calls.length
      const haveSucceeded = () => calls.slice(from).filter(({ status }) => status === 200).length >= count
      await until(`${count} calls succeed`, haveSucceeded, 30_000)
    },
    /** Stops the callers after the calls that are under way. @returns all calls */
    async stop() {
      stopped = true
      await Promise.all(running)
      agent.destroy()
      return calls
    },
  }
}

/** Sends a request. @param options.agent by default, the request opens a new connection */
export function exchange(url: URL, secret: string, body?: string, options: RequestOptions = {}): Promise<Exchange> {
  const sent = performance.now()
  const headers = {
    ...{ accept: 'application/json', authorization: `Bearer ${secret}` },
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  return new Promise(resolve => {
    let text = ''
    const finish = (answer: Pick<Exchange, 'status' | 'headers' | 'error'>) =>
      resolve({ ...answer, text, took: performance.now() - sent, reused: outgoing.reusedSocket })
    const fail = (error: Error) =>
      finish({ status: 0, headers: {}, error: 'code' in error ? String(error.code) : error.name })
    const open = url.protocol === 'https:' ? requestByTls : request
    const outgoing = open(url, { agent: false, ...options, headers }, response => {
      response.setEncoding('utf8').on('data', chunk => {
        text += chunk
      })
      response.on('end', () => finish({ status: response.statusCode ?? 0, headers: response.headers }))
      response.on('error', fail)
    })
    outgoing.on('timeout', () => outgoing.destroy()).on('error', fail)
    outgoing.end(body)
  })
}

export async function fetchOperation(origin: string, { method, path, secret, body }: Operation) {
  const { status, headers } = await exchange(new URL(path, origin), secret, body, { method })
  return { status, retryAfter: headers['retry-after'] }
}

/** The time after which a call is given up, in milliseconds: far more than `callLimit`. */
const callTimeoutMs = 20_000

async function send(agent: Agent, origin: string, operation: Operation, tenantId: number): Promise<Call> {
  const { name, method, path, secret, body } = operation
  const sent = performance.now()
  const options = { agent, method, timeout: callTimeoutMs }
  const { status, headers, text, ...call } = await exchange(new URL(path, origin), secret, body, options)
  const parsed = parse(text)
  return {
    ...{ name, sent, ...call },
    status: name === 'graphql' && status === 200 ? statusOfResult(parsed) : status,
    retryAfter: headers['retry-after'],
    isForeign: [...text.matchAll(/owner-(\d+)-/g)].some(([, owner]) => Number(owner) !== tenantId),
    isWhole: parsed !== undefined,
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Returns 200 for a GraphQL result without errors, 503 when its fields are unavailable, otherwise 500. */
function statusOfResult(body: unknown): number {
  const { errors = [] } = (body ?? {}) as { errors?: { extensions?: { code?: string } }[] }
  if (errors.length === 0) return 200
  return errors.every(({ extensions }) => extensions?.code === 'UNAVAILABLE') ? 503 : 500
}
