/** The load process of `npm run bench -- fairness`: sends one request over and over, on each of its connections. */
import { Client } from 'undici'

/** Returns the outcome that the status and the beginning of a body tell. */
const outcomeOf = (status, text) => (status === 200 && text.includes('"errors"') ? 'field errors' : String(status))

process.on('message', async ({ origin, requests, seconds, connections }) => {
  const outcomes = {}
  const end = performance.now() + seconds * 1000
  const keepBusy = async place => {
    const client = new Client(origin, { pipelining: 1 })
    for (let next = place; performance.now() < end; next++) {
      let outcome
      try {
        const { statusCode, body } = await client.request(requests[next % requests.length])
        outcome = outcomeOf(statusCode, (await body.text()).slice(0, 100))
      } catch (error) {
        outcome = String(error)
      }
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    }
    await client.close()
  }
  await Promise.all(Array.from({ length: connections }, (_, place) => keepBusy(place)))
  process.send?.(outcomes)
})
