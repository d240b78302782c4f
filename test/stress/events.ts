/** Clients that read only the lists that events name. Their endpoints fail at random. */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { VoucherGateway } from '#client'
import type { Pool } from '../../src/db/sql.ts'
import { createEndpoint, listEndpoints, resumeEndpoint } from '../../src/domain/event/endpoint.ts'
import { createTestToken, tester } from '../support/builders.ts'
import { until } from '../support/until.ts'
import { readWhole } from '../sync/clients.ts'
import { createEventClient } from '../sync/event-client.ts'
import { type ClientKind, createPageReader } from '../sync/followers.ts'
import type { Instance } from '../sync/lists.ts'
import { type createWholes, type Outcome, outcomesOf } from '../sync/outcome.ts'
import type { Random } from '../sync/random.ts'
import { countWaiting, findReordered } from '../webhook/outcome.ts'
import { answerWith, breakConnection, type Respond, startReceiver } from '../webhook/receiver.ts'

export const certificate = join(import.meta.dirname, '../webhook/receiver.pem')

export const webhookSettings = { WEBHOOK_NETWORKS: '127.0.0.0/8', WEBHOOK_KEY: 'ab'.repeat(32) }

/** The faulty answers of receivers. */
const faults: Respond[] = [
  (_event, response) => {
    response.writeHead(500).end('x'.repeat(100_000))
    return 500
  },
  // The receiver does not answer, so the service gives up after its time limit.
  () => null,
  breakConnection,
  (_event, _response, { socket }) => {
    socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n')
    return null
  },
  answerWith(302, { location: 'https://localhost:1/' }),
  answerWith(503, { 'retry-after': '1' }),
  async (...request) => {
    await pause(2_000)
    return answerWith(200)(...request)
  },
]

const typeOf = (list: string) => `${list.replace('-', '_')}.changed`

/** Starts a client that follows the event stream of an instance. */
async function startStreamClient(origin: string, secret: string, askFor: ReturnType<typeof createPageReader>) {
  const client = createEventClient(askFor)
  const stop = new AbortController()
  const changes = new VoucherGateway({ url: origin, token: secret }).watchChanges({ signal: stop.signal })
  const begin = await changes.next()
  let position = begin.value?.serverTime ?? ''
  await client.begin()
  const following = (async () => {
    for await (const { lists, serverTime } of changes) {
      for (const { list, tenantId } of lists)
        await client.take({ type: typeOf(list), tenant_id: tenantId, updated_since: position })
      position = serverTime
    }
  })()
  following.catch(() => {})
  return {
    client,
    askFor,
    /**
     * Waits until the client has read all lists that changed up to an instant, and stops the client. @throws the error
     * of the client
     */
    async settle(instant: string): Promise<void> {
      const failed = following.then(() => Promise.reject(new Error('The stream ended.')))
      await Promise.race([failed, until('the stream', () => position >= instant, 60_000)])
      stop.abort()
      await following
    },
  }
}

/**
 * Starts event clients, each with an endpoint. The first endpoint never fails, the others fail at random.
 *
 * @param sql a pool with the role of the service
 */
export async function startEventClients(
  sql: Pool,
  instances: readonly Instance[],
  grants: Record<ClientKind['scope'], Parameters<typeof createTestToken>[1]>,
  count: number,
  random: Random,
) {
  let isOver = false
  const scopes: ClientKind['scope'][] = ['root', 'branch', 'single tenants']
  const clients = await Promise.all(
    Array.from({ length: count }, async (_, n) => {
      const { id, secret } = await createTestToken(sql, grants[scopes[n % scopes.length]!])
      const receiver = await startReceiver()
      const askFor = createPageReader(instances, 'GraphQL', secret)
      const client = createEventClient(askFor)
      await createEndpoint(sql, tester, id, receiver.url)
      const begun = client.begin()
      const succeed = receiver.respond
      receiver.respond = async (event, ...rest) => {
        const fault = n > 0 && !isOver && random.chance(0.15) ? random.pick(faults) : undefined
        const status = await (fault ?? succeed)(event, ...rest)
        if (status !== null && status < 300) void client.take(event)
        return status
      }
      await begun
      return { client, receiver, askFor }
    }),
  )
  const origins = instances.flatMap(({ origin }) => origin ?? [])
  const streams = await Promise.all(
    origins.map(async origin => {
      const { secret } = await createTestToken(sql, grants.root)
      return startStreamClient(origin, secret, createPageReader(instances, 'GraphQL', secret))
    }),
  )
  // An address of the operator's network. No request may reach this endpoint, and no delivery may wait for it.
  const { id } = await createTestToken(sql, grants.root)
  await createEndpoint(sql, tester, id, 'https://10.0.0.1/')

  return {
    /**
     * Ends the faults, and waits until the last change of each list is delivered. @returns a line of the report, and
     * the outcomes
     */
    async conclude(
      wholeOf: ReturnType<typeof createWholes>,
    ): Promise<{ line: string; outcomes: Outcome[]; lost: number }> {
      isOver = true
      const atEnd = await countWaiting(sql)
      for (const endpoint of await listEndpoints(sql)) await resumeEndpoint(sql, tester, endpoint.id)
      const isClear = async () => (await countWaiting(sql)) === 0
      await until('all events', isClear, 60_000).catch(() => {})
      const waiting = await countWaiting(sql)
      await Promise.all(clients.map(({ client }) => client.settled()))
      const [last] = await sql<{ at: string }[]>`select max(changed_at) as at from gateway.list_head`
      await Promise.all(streams.map(stream => stream.settle(last?.at ?? '')))
      const received = clients.map(({ receiver }) => receiver.received)
      const delivered = clients.map(({ receiver }) => receiver.delivered())
      const reordered = delivered.flatMap(findReordered)
      const size = (events: readonly unknown[][]) => events.reduce((sum, each) => sum + each.length, 0)
      const outcomes = [...clients, ...streams].map(async ({ client, askFor }, n) =>
        outcomesOf(
          n < clients.length ? `webhook ${n}` : `stream ${n - clients.length}`,
          client.copy,
          await readWhole(askFor('tenants', 0)),
          wholeOf,
        ),
      )
      return {
        outcomes: (await Promise.all(outcomes)).flat(),
        line:
          `events: ${size(delivered)} delivered in ${size(received)} tries, ${atEnd} lists waited at the end, then ${waiting} lost, ` +
          `${reordered.length} reordered ${reordered.slice(0, 3)}`,
        lost: waiting + reordered.length,
      }
    },
  }
}
