/**
 * Records are read from standbys that pause, lag, stop or are promoted: no call fails, and no client misses a change.
 */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { packagedPrograms } from '../support/packaged-postgres.ts'
import { startPgpool } from '../support/pgpool.ts'
import { run as runCommand, type Service } from '../support/process.ts'
import { until } from '../support/until.ts'
import { fetchOperation, type Load, startLoad } from './support/load.ts'
import type { FaultServer } from './support/server.ts'
import { standbyFaults } from './support/standby-faults.ts'
import { startStandby, startWorld } from './support/start.ts'
import { startSync } from './support/sync.ts'
import { operationOf } from './support/world.ts'

describe.each([
  { of: 'the embedded PostgreSQL', findPrograms: () => null },
  { of: 'the packaged PostgreSQL', findPrograms: packagedPrograms },
])('standbys of $of', ({ findPrograms }) => {
  let started: Awaited<ReturnType<typeof startWorld>>
  let standbys: FaultServer[]
  let service: Service
  let load: Load
  let sync: ReturnType<typeof startSync>

  const replicaUrls = () => standbys.map(each => each.url(started.world.database)).join()

  beforeAll(async () => {
    started = await startWorld('standbys', {}, findPrograms())
    const { server, world, start } = started
    standbys = [await startStandby(server), await startStandby(server)]
    service = await start({ DATABASE_REPLICA_URLS: replicaUrls() })
    load = startLoad(() => service.origin, world, 4)
    sync = startSync(service.origin, world, () => server)
  })
  afterAll(() => service.stop('SIGKILL'))

  /** Waits until the service reports this problem of the first standby; null waits for no problem. */
  const untilReported = (problem: string | null) =>
    until(`the service reports ${problem}`, async () => {
      const { status, body } = await service.ready()
      const { standbys, reasons } = JSON.parse(body)
      const isReason = reasons.some((reason: { message: string }) => reason.message.startsWith('Standby 1 '))
      return status === 200 && standbys[0].problem === problem && isReason === (problem !== null)
    })
  const expectNamedByDoctor = async (problem: string) => {
    const { server, world } = started
    const environment = { DATABASE_URL: server.url(world.database), DATABASE_REPLICA_URLS: replicaUrls() }
    expect((await runCommand(['doctor'], environment)).stdout).toContain(`standbys: ${problem}: Standby 1 `)
  }

  const readsOf = (server: FaultServer) =>
    server.use(started.world.database, async sql => {
      const [row] = await sql<{ reads: string }[]>`
        select seq_scan + coalesce(idx_scan, 0) as reads from pg_stat_user_tables
        where schemaname = 'gateway' and relname = 'customer'`
      return Number(row?.reads)
    })

  test('records are read from both standbys, and not from the primary', async () => {
    await untilReported(null)
    const signup = operationOf(started.world, 'signup')
    const read = async (times: number) => {
      const before = await Promise.all([started.server, ...standbys].map(readsOf))
      for (let count = 0; count < times; count++) await fetchOperation(service.restAddress, signup)
      return (await Promise.all([started.server, ...standbys].map(readsOf))).map((reads, at) => reads - before[at]!)
    }
    // PostgreSQL counts reads with some delay.
    await expect.poll(() => read(20)).toEqual([expect.any(Number), expect.any(Number), expect.any(Number)])
    const [primary = 0, ...others] = await read(100)
    expect(Math.min(...others)).toBeGreaterThan(10 * primary)
  })

  test.each(standbyFaults)('a standby $what is not read until it works again', async ({ problem, run }) => {
    await run(standbys[0]!, async () => {
      await untilReported(problem)
      await expectNamedByDoctor(problem)
      await load.succeed(100)
    })
    await untilReported(null)
    await load.succeed(100)
  })

  test('when no standby works, the primary answers', async () => {
    await Promise.all(standbys.map(each => each.stop()))
    await untilReported('STANDBY_UNREACHABLE')
    await load.succeed(100)
    await Promise.all(standbys.map(each => each.start()))
    await untilReported(null)
  })

  test('one Pgpool-II can take the place of all standbys, but not of the primary', async () => {
    const ports = standbys.map(({ port }) => port)
    const pgpool = await startPgpool(started.server.port, ports, { statement_level_load_balance: 'off' })
    onTestFinished(pgpool.remove)
    const url = `postgres://postgres@127.0.0.1:${pgpool.port}/${started.world.database}`
    const other = await started.start({ DATABASE_REPLICA_URLS: url })
    onTestFinished(async () => void (await other.stop('SIGKILL')))
    await until('it is used', async () => JSON.parse((await other.ready()).body).standbys?.[0].problem === null)
    const signup = operationOf(started.world, 'signup')
    expect(await fetchOperation(other.restAddress, signup)).toMatchObject({ status: 200 })
    await expect(started.start({ DATABASE_URL: url })).rejects.toThrow('sends reads to a standby')
  })

  test('after all faults, no call has failed, and the client has all changes', async () => {
    const calls = await load.stop()
    expect(calls.filter(({ status }) => status !== 200)).toEqual([])
    expect(calls.filter(({ isForeign, isWhole }) => isForeign || !isWhole)).toEqual([])
    expect(await sync.findLost()).toEqual([])
    expect(sync.changes).toBeGreaterThan(100)
  })
})
