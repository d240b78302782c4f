/**
 * The process that makes the load: told what to ask, it keeps so many connections busy for so long, and says what came
 * of it. In a process of its own, so that its time is nobody else's.
 */
import { Client } from 'undici'

/** GraphQL tells of errors with a 200; no answer that is asked for is so short. */
const suspicious = 1000

function quantile(sorted, share) {
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
}

async function load({ origin, requests, first, seconds, connections }) {
  const latencies = []
  let next = first
  let failures = 0
  let example = ''
  const start = performance.now()
  const end = start + seconds * 1000

  const keepBusy = async () => {
    const client = new Client(origin, { pipelining: 1 })
    await new Promise(resolve => {
      const ask = () => {
        const asked = performance.now()
        if (asked >= end) return resolve()
        let status = 0
        let length = 0
        let said = ''
        client.dispatch(requests[next++ % requests.length], {
          onConnect() {},
          onHeaders(code) {
            status = code
            return true
          },
          onData(chunk) {
            length += chunk.length
            if (length < suspicious) said += chunk
            return true
          },
          onComplete() {
            latencies.push(performance.now() - asked)
            if (status !== 200 || (length < suspicious && said.includes('"errors"'))) {
              failures++
              example = `${status} ${said}`
            }
            ask()
          },
          onError(error) {
            failures++
            example = String(error)
            resolve()
          },
        })
      }
      ask()
    })
    await client.close()
  }
  await Promise.all(Array.from({ length: connections }, keepBusy))
  const elapsed = (performance.now() - start) / 1000
  latencies.sort((one, other) => one - other)
  return {
    requests: latencies.length,
    perSecond: latencies.length / elapsed,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
    failures,
    example,
  }
}

process.on('message', async order => {
  const outcome = await load(order)
  process.send?.(outcome)
})
