/**
 * A primary and standbys, which are paused, delayed, suspended, restarted and promoted while clients read from them.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { createFaultServer, type FaultServer } from '../faults/support/server.ts'
import { standbyFaults } from '../faults/support/standby-faults.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { startPgpool } from '../support/pgpool.ts'
import type { Random } from '../sync/random.ts'

/**
 * Starts a primary with standbys.
 *
 * @param programs the directory of the PostgreSQL programs; null for the embedded ones
 * @param isRouted true when Pgpool-II distributes the reads of one pool to all standbys
 */
export async function startReplicated(
  count: number,
  settings: Record<string, string>,
  programs: string | null,
  isRouted: boolean,
) {
  const primary = await createFaultServer({ ...settings, wal_keep_size: '2GB', max_wal_senders: '10' }, programs)
  const standbys = await Promise.all(Array.from({ length: count }, () => primary.createStandby()))
  for (const each of [primary, ...standbys]) await each.start()
  const ports = standbys.map(({ port }) => port)
  const pgpool = isRouted ? await startPgpool(primary.port, ports) : null
  const urlOf = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres`
  const pools: { end: (options: { timeout: number }) => Promise<void> }[] = []
  let [statements, begun] = [0, 0]

  const connectStandbys = () =>
    (pgpool ? [pgpool.port] : ports).map(port => {
      const options = { statementTimeoutMs: 4_000, role: serviceRole, readsOnly: true, connectTimeoutMs: 1_000 }
      const pool = connect(urlOf(port), { ...options, max: 10, answerTimeoutMs: 4_500 })
      const probe = connect(urlOf(port), { ...options, max: 1, answerTimeoutMs: 500 })
      pool.options.debug = () => statements++
      pools.push(pool, probe)
      return { pool, probe }
    })

  async function disturb(standby: FaultServer, random: Random, stop: AbortSignal): Promise<void> {
    while (!stop.aborted) {
      await pause(500 + random.below(2_000))
      begun += 1
      await random.pick(standbyFaults)?.run(standby, () => pause(300 + random.below(2_500)))
    }
  }

  return {
    address: { host: '127.0.0.1', port: primary.port, user: 'postgres', database: 'postgres' },
    connectStandbys,
    disturb: (random: () => Random, stop: AbortSignal) =>
      Promise.all(standbys.map(standby => disturb(standby, random(), stop))),
    counts: () => ({ statements, faults: begun }),
    async stop() {
      await Promise.all(pools.map(pool => pool.end({ timeout: 1 })))
      await pgpool?.remove()
      for (const each of [...standbys, primary]) await each.remove()
    },
  }
}
