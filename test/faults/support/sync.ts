/** A platform that changes vouchers all the time, and a client that keeps a copy of them and resumes after each fault. */
import { setTimeout as pause } from 'node:timers/promises'
import type postgres from '#postgres'
import { createSyncClient, lostFrom, readWhole } from '../../sync/clients.ts'
import { type Ask, lists, type PageBody, toPage } from '../../sync/lists.ts'
import type { FaultServer } from './server.ts'
import { type Owner, type World, writeRecords } from './world.ts'

const vouchers = lists.find(({ name }) => name === 'vouchers')
if (!vouchers?.path) throw new Error('There is no list of vouchers.')
const { path } = vouchers

/**
 * Starts them for one tenant.
 *
 * @param origin where the service listens now
 * @param server on which the platform writes now
 */
export function startSync(origin: () => string, world: World, server: () => FaultServer) {
  const [owner] = world.owners
  if (!owner) throw new Error('There is no tenant.')
  const ask = askOver(origin, owner)
  const client = createSyncClient(ask, 'first page')
  let stopped = false
  let changes = 0

  async function change(sql: postgres.Sql): Promise<void> {
    while (!stopped) {
      const id = owner!.voucherIds[changes % owner!.voucherIds.length] ?? 0
      // Some transactions stay open across steps and pages.
      await sql.begin(async transaction => {
        await transaction`update purchased_voucher set current_balance = ${changes % 100} where id = ${id}`
        if (changes % 5 === 0) await pause(15)
      })
      changes += 1
    }
  }

  /** Begins again after each error until it is stopped. */
  async function persist(work: () => Promise<void>): Promise<void> {
    while (!stopped) {
      await work().catch(() => pause(50))
    }
  }

  const running = [
    persist(() => server().use(world.database, change)),
    persist(async () => {
      await client.pass()
      await pause(20)
    }),
  ]
  return {
    /** The number of changes that were committed. */
    get changes() {
      return changes
    },
    /** Stops both, reads once more. @returns the records that the copy lacks or has in an old state, or that steps have lost */
    async findLost() {
      stopped = true
      await Promise.all(running)
      const problems = await writeRecords(server(), world.database)
      await client.pass()
      return [...problems, ...lostFrom(client.copy, await readWhole(ask))]
    },
  }
}

const pageTimeout = 10_000

const askOver =
  (origin: () => string, { secret, tenantId }: Owner): Ask =>
  async (since, cursor) => {
    const query = new URLSearchParams({ ...(since && { updated_since: since }), ...(cursor && { cursor }) })
    const response = await fetch(`${origin()}/api/external/v1${path?.(tenantId)}?${query}`, {
      headers: { accept: 'application/json', authorization: `Bearer ${secret}` },
      signal: AbortSignal.timeout(pageTimeout),
    })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`${response.status}: ${text}`)
    const body: PageBody = JSON.parse(text)
    return toPage(body)
  }
