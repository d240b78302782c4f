/** Sends concurrent requests to several instances, over REST and GraphQL. */
import { Agent } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import { oneList } from '../../rest/rate-instances.ts'
import { remainingOf } from '../../support/app.ts'
import type { Service } from '../../support/process.ts'
import { type Exchange, exchange } from './load.ts'
import { logLinesIn } from './log-lines.ts'

/**
 * Requests the tenants over REST, or sends `query` over GraphQL. @throws Error when the connection is refused or lost
 */
export async function ask(address: string, secret: string, { query, agent }: { query?: string; agent?: Agent } = {}) {
  const answer =
    query === undefined
      ? await exchange(new URL(`${address}/tenants`), secret, undefined, { ...(agent && { agent }) })
      : await exchange(new URL('/graphql', address), secret, JSON.stringify({ query }), { method: 'POST' })
  if (answer.status === 0) throw new Error(answer.error)
  return answer
}

/**
 * Sends many calls at once to all instances. A call that is refused because of overload is not counted, so it is sent
 * again.
 *
 * @returns the answers with status 200, and whether other calls missed their deadline: the service may have counted
 * those
 */
async function burst(addresses: readonly string[], secret: string, calls: number) {
  const askUntilAdmitted = async (n: number): Promise<Exchange> => {
    const address = addresses[n % addresses.length] ?? ''
    const answer = await ask(address, secret, n % 4 < 2 ? {} : { query: oneList })
    if (answer.status !== 503 || !answer.text.includes('too many requests')) return answer
    await pause(50)
    return askUntilAdmitted(n)
  }
  const answers = await Promise.all(Array.from({ length: calls }, (_, n) => askUntilAdmitted(n)))
  return {
    passed: answers.filter(({ status }) => status === 200),
    isLate: answers.some(({ status }) => status === 503),
  }
}

export const storeLines = {
  failure: 'the store of rates does not answer: this process counts by itself meanwhile',
  recovery: 'the store of rates counts again',
}

export const storeLinesIn = ({ printed }: Service): string[] =>
  logLinesIn(printed())
    .map(({ msg }) => msg)
    .filter(message => message.startsWith('the store of rates'))

/**
 * Returns the number of failures of the store of rates that these services logged, and the number of them that still
 * last.
 */
function storeFailures(services: readonly Service[]) {
  const lines = services.flatMap(storeLinesIn)
  const failures = lines.filter(line => line === storeLines.failure).length
  return { failures, open: 2 * failures - lines.length }
}

const maxBursts = 3

/**
 * Sends a burst that the services count together, and checks that exactly `limit` calls pass. On a busy machine, calls
 * can miss their deadline, or the store answers late and each service counts separately: then the burst is repeated.
 *
 * @param newSecret creates a new token
 * @param limit the rate limit of the token
 * @returns the token of the last burst
 */
export async function expectExactBurst(
  services: readonly Service[],
  newSecret: () => Promise<string>,
  calls: number,
  limit = 120,
): Promise<string> {
  const addresses = services.map(({ restAddress }) => restAddress)
  for (let sent = 1; ; sent++) {
    const secret = await newSecret()
    const { failures } = storeFailures(services)
    const { passed, isLate } = await burst(addresses, secret, calls)
    const hasFailed = storeFailures(services).failures > failures
    if (sent === maxBursts || passed.length === limit || !(isLate || hasFailed)) {
      expect(passed.map(remainingOf).sort((a, b) => a - b)).toEqual(Array.from({ length: limit }, (_, place) => place))
      return secret
    }
    if (hasFailed) await expect.poll(() => storeFailures(services).open, { timeout: 20_000 }).toBe(0)
  }
}

/**
 * Sends calls from several callers for `time` milliseconds. Each caller sends one call after the other. @returns all
 * answers
 */
export async function askFor(time: number, callers: number, restAddress: string, secret: string): Promise<Exchange[]> {
  const agent = new Agent({ keepAlive: true })
  const answers: Exchange[] = []
  const end = performance.now() + time
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (performance.now() < end) answers.push(await ask(restAddress, secret, { agent }))
    }),
  )
  agent.destroy()
  return answers
}

/** Returns the 99th percentile of the times of the answers, in milliseconds. */
export function p99(answers: readonly Exchange[]): number {
  const sorted = answers.map(({ took }) => took).sort((a, b) => a - b)
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN
}
