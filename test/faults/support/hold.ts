/** Runs a fault under load, with the checks that all faults share. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import type { Service } from '../../support/process.ts'
import { recoveryLimit } from './form.ts'
import { type Call, expectBounded, startLoad } from './load.ts'
import type { FaultServer } from './server.ts'
import { startSync } from './sync.ts'
import type { World } from './world.ts'

/**
 * Runs a fault while callers send requests, a platform writes and a client syncs. Checks that the process lives, that
 * each call is answered in time with 200 or 503 and only with rows of its own tenant, that all calls succeed soon after
 * the fault, and that the sync misses no change.
 *
 * @param of.server returns the server that is the primary now
 * @param fault resolves when the fault is over
 * @param unaffected returns whether calls of this name must succeed during the fault
 * @returns the calls that were under way or sent during the fault
 */
export async function hold(
  of: { service: Service; world: World; server: () => FaultServer },
  fault: () => Promise<void>,
  unaffected?: (name: string) => boolean,
): Promise<readonly Call[]> {
  const { service, world, server } = of
  const load = startLoad(() => service.origin, world)
  const sync = startSync(service.origin, world, server)
  await load.succeed(300)
  const began = performance.now()
  await fault()
  const over = performance.now()
  await pause(recoveryLimit)
  await load.succeed(300)
  const lost = await sync.findLost()
  const calls = await load.stop()
  const during = calls.filter(({ sent, took }) => sent + took >= began && sent < over + recoveryLimit)
  const failed = during.filter(({ status }) => status !== 200)
  const summary = summarize(during)

  expect(service.child.exitCode, 'the process lives').toBeNull()
  expectBounded(calls, summary)
  expect(calls.filter(({ isForeign, isWhole }) => isForeign || !isWhole)).toEqual([])
  expect(
    calls.filter(({ sent, status }) => sent > over + recoveryLimit && status !== 200),
    summary,
  ).toEqual([])
  if (unaffected) {
    expect(
      failed.filter(({ name }) => unaffected(name)),
      summary,
    ).toEqual([])
  }
  expect(lost, `of ${sync.changes} changes`).toEqual([])
  expect(sync.changes).toBeGreaterThan(0)
  return during
}

function summarize(calls: readonly Call[]): string {
  const groups = new Map<string, { count: number; slowest: number }>()
  for (const { name, status, took } of calls) {
    const key = `${name} ${status}`
    const group = groups.get(key) ?? { count: 0, slowest: 0 }
    groups.set(key, { count: group.count + 1, slowest: Math.max(group.slowest, took) })
  }
  return [...groups].map(([key, { count, slowest }]) => `${key}: ${count}, slowest ${slowest.toFixed(0)} ms`).join('\n')
}
