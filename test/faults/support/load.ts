/** Callers that send requests all the time, and what they got. */
import { Agent, request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { until } from '../../support/until.ts'
import { callLimit } from './form.ts'
import type { World } from './world.ts'

/** One call, and its outcome. */
export interface Call {
  name: string
  /** The time at which it was sent, as `performance.now()`. */
  sent: number
  /** The time that it took, in milliseconds. */
  took: number
  /** 0: the connection was refused or lost. For a GraphQL answer with errors, the status that REST uses for them. */
  status: number
  retryAfter: string | undefined
  /** With status 0: the code of the error. */
  error: string | undefined
  /** True when it was sent on a connection that had been answered before. */
  reused: boolean
  /** True when the answer contains a record of a tenant that is not the caller's. */
  isForeign: boolean
  /** True when the body of the answer is complete and has the expected form. */
  isWhole: boolean
}

/** @returns the calls that were refused without `Retry-After` */
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

/** A running load. */
export interface Load {
  calls: readonly Call[]
  /** Waits until this many more calls have succeeded. */
  succeed(count: number): Promise<void>
  /** Ends it, after the calls that are under way. @returns all calls */
  stop(): Promise<readonly Call[]>
}

/**
 * Starts callers that perform all operations of v1, and one over GraphQL, each for a tenant of its own.
 *
 * @param callers how many wait for one answer each
 */
export function startLoad(origin: () => string, world: World, callers = 16): Load {
  const agent = new Agent({ keepAlive: true })
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
      // A caller whose connection was refused does not spin.
      if (call.status !== 200) await pause(20)
    }
  })
  return {
    calls,
    async succeed(count) {
      const from = calls.length
      const haveSucceeded = () => calls.slice(from).filter(({ status }) => status === 200).length >= count
      await until(`${count} calls succeed`, haveSucceeded, 30_000)
    },
    async stop() {
      stopped = true
      await Promise.all(running)
      agent.destroy()
      return calls
    },
  }
}

/** A request of an operation. */
export interface Operation {
  name: string
  method: 'GET' | 'POST'
  path: string
  secret: string
  body?: string
}

/** Sends the request of an operation once. */
export async function fetchOperation(origin: string, { method, path, secret, body }: Operation) {
  const headers = { accept: 'application/json', 'content-type': 'application/json', authorization: `Bearer ${secret}` }
  const answer = await fetch(new URL(path, origin), { method, headers, ...(body !== undefined && { body }) })
  await answer.text()
  return { status: answer.status, retryAfter: answer.headers.get('retry-after') }
}

/** The time limit of a call, in milliseconds: far more than a call may take. */
const callTimeoutMs = 20_000

function send(agent: Agent, origin: string, operation: Operation, tenantId: number): Promise<Call> {
  const { name, method, path, secret, body } = operation
  const sent = performance.now()
  return new Promise(resolve => {
    const finish = (httpStatus: number, text: string, retryAfter?: string, error?: string) => {
      const body = parse(text)
      const status = name === 'graphql' && httpStatus === 200 ? statusOfResult(body) : httpStatus
      resolve({
        name,
        sent,
        took: performance.now() - sent,
        status,
        retryAfter,
        error,
        reused: outgoing.reusedSocket,
        isForeign: [...text.matchAll(/owner-(\d+)-/g)].some(([, owner]) => Number(owner) !== tenantId),
        isWhole: body !== undefined,
      })
    }
    const headers = {
      accept: 'application/json',
      authorization: `Bearer ${secret}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    }
    const outgoing = request(new URL(path, origin), { agent, method, headers, timeout: callTimeoutMs }, response => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', chunk => {
        text += chunk
      })
      response.on('end', () => finish(response.statusCode ?? 0, text, response.headers['retry-after']))
      response.on('error', error => finish(0, text, undefined, codeOf(error)))
    })
    outgoing.on('timeout', () => outgoing.destroy())
    outgoing.on('error', error => finish(0, '', undefined, codeOf(error)))
    outgoing.end(body)
  })
}

const codeOf = (error: Error) => ('code' in error ? String(error.code) : error.name)

/** @returns undefined for a text that is no JSON */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** @returns 200 for a GraphQL result without errors, 503 when its fields are unavailable, otherwise 500 */
function statusOfResult(body: unknown): number {
  const { errors = [] } = (body ?? {}) as { errors?: { extensions?: { code?: string } }[] }
  if (errors.length === 0) return 200
  return errors.every(({ extensions }) => extensions?.code === 'UNAVAILABLE') ? 503 : 500
}
