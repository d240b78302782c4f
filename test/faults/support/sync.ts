/** A platform changes vouchers all the time, and a client keeps a copy of the vouchers and resumes after each fault. */
import { setTimeout as pause } from 'node:timers/promises'
import { VoucherGateway } from '#client'
import type postgres from '#postgres'
import { repeat } from './repeat.ts'
import type { FaultServer } from './server.ts'
import { type World, writeRecords } from './world.ts'

/** Starts the platform and the client for one tenant. @param server returns the server that is the primary now */
export function startSync(origin: string, world: World, server: () => FaultServer) {
  const [owner] = world.owners
  if (!owner) throw new Error('There is no tenant.')
  const { tenantId, secret } = owner
  function list(updatedSince?: string) {
    const client = new VoucherGateway({ url: origin, token: secret, maxAttempts: 1, timeoutMs: 10_000 })
    return client.purchasedVouchers(tenantId, { updatedSince })
  }
  const copy = new Map<number, string>()
  let since: string | undefined
  let isStopped = false
  let changes = 0

  async function change(sql: postgres.Sql): Promise<void> {
    while (!isStopped) {
      const id = owner!.voucherIds[changes % owner!.voucherIds.length] ?? 0
      // Some transactions stay open while steps run and pages are read.
      await sql.begin(async transaction => {
        await transaction`update purchased_voucher set current_balance = ${changes % 100} where id = ${id}`
        if (changes % 5 === 0) await pause(15)
      })
      changes += 1
    }
  }

  /** Reads the changes since the first page of the previous pass. */
  async function pass(): Promise<void> {
    const changed = list(since)
    for await (const voucher of changed) copy.set(voucher.id, JSON.stringify(voucher))
    since = changed.serverTime
  }

  /** Repeats work until it is stopped, also after errors. */
  const persist = (work: () => Promise<void>) => repeat(() => work().catch(() => pause(50)))

  const stops = [
    persist(() => server().use(world.database, change)),
    persist(async () => {
      await pass()
      await pause(20)
    }),
  ]
  return {
    get changes() {
      return changes
    },
    /**
     * Stops both, and reads the changes once more. @returns the records that are missing or outdated in the copy or in
     * the record tables
     */
    async findLost() {
      isStopped = true
      await Promise.all(stops.map(stop => stop()))
      const problems = await writeRecords(server(), world.database)
      await pass()
      const lost: unknown[] = [...problems]
      for await (const voucher of list()) if (copy.get(voucher.id) !== JSON.stringify(voucher)) lost.push(voucher)
      return lost
    },
  }
}
