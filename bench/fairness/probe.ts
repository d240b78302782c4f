import { setTimeout as sleep } from 'node:timers/promises'
import type { HttpRequest } from '../harness/operations.ts'
import { quantile } from '../harness/report.ts'

/** A request that another token sends at a steady rate. */
export interface Probe {
  name: string
  request: HttpRequest
  /** The time between two requests, in milliseconds. */
  every: number
}

/** The answers of a probe. Times in milliseconds. */
export interface Answers {
  count: number
  /** The number that had another status than 200, or errors of fields. */
  refused: number
  p50: number
  p95: number
}

/** Sends the probes for some time, each at its own rate, even when answers are slow. @returns the answers of each */
export function sendProbes(origin: string, probes: readonly Probe[], seconds: number): Promise<Answers[]> {
  return Promise.all(
    probes.map(async ({ request: { path, method, headers, body }, every }) => {
      const times: number[] = []
      let refused = 0
      const send = async (due: number) => {
        const answer = await fetch(origin + path, { method, headers, ...(body !== undefined && { body }) })
        const text = await answer.text()
        times.push(performance.now() - due)
        if (answer.status !== 200 || text.slice(0, 100).includes('"errors"')) refused++
      }
      const sent: Promise<void>[] = []
      const start = performance.now() + every * Math.random()
      for (let due = start; due < start + seconds * 1000; due += every) {
        // The latency starts when the request is sent, so a timer that fires late is not counted.
        await sleep(Math.max(0, due - performance.now()))
        sent.push(send(performance.now()))
      }
      await Promise.all(sent)
      return { count: times.length, refused, p50: quantile(times, 0.5), p95: quantile(times, 0.95) }
    }),
  )
}
