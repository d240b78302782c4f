/** The load process: receives orders from `Load`, keeps connections busy for some seconds, and reports the outcome. */
import { Client } from 'undici'

/** GraphQL reports errors with status 200. The answers of the benchmarks are longer than this, in bytes. */
const errorLength = 1000

/**
 * The connections by origin. They stay open between orders: otherwise opening them would take a large part of a short
 * turn.
 */
const opened = new Map()

function clientsOf(origin, connections) {
  const clients = opened.get(origin) ?? []
  opened.set(origin, clients)
  while (clients.length < connections) clients.push(new Client(origin, { pipelining: 1 }))
  return clients.slice(0, connections)
}

async function load({ origin, requests, first, seconds, count, connections }) {
  const times = []
  const statuses = {}
  let [next, bytes, example] = [first, 0, '']
  const start = performance.now()
  const end = start + (seconds ?? Number.POSITIVE_INFINITY) * 1000
  const last = first + (count ?? Number.POSITIVE_INFINITY)

  const keepBusy = client =>
    new Promise(resolve => {
      const send = () => {
        const sent = performance.now()
        if (sent >= end || next >= last) return resolve()
        let [status, length, beginning] = [0, 0, '']
        client.dispatch(requests[next++ % requests.length], {
          onConnect() {},
          onHeaders(code) {
            status = code
            return true
          },
          onData(chunk) {
            length += chunk.length
            if (length < errorLength) beginning += chunk
            return true
          },
          onComplete() {
            bytes += length
            times.push(performance.now() - sent)
            const hasErrors = status === 200 && length < errorLength && beginning.includes('"errors"')
            const outcome = hasErrors ? 'errors' : String(status)
            statuses[outcome] = (statuses[outcome] ?? 0) + 1
            if (outcome !== '200') example = `${status} ${beginning}`
            send()
          },
          onError(error) {
            statuses.broken = (statuses.broken ?? 0) + 1
            example = String(error)
            resolve()
          },
        })
      }
      send()
    })
  await Promise.all(clientsOf(origin, connections).map(keepBusy))
  const elapsed = (performance.now() - start) / 1000
  times.sort((one, other) => one - other)
  const [p50 = 0, p99 = 0] = [0.5, 0.99].map(share => times[Math.floor(share * times.length)])
  return { requests: times.length, perSecond: times.length / elapsed, p50, p99, bytes, statuses, example }
}

process.on('message', async order => process.send?.(await load(order)))
