/** A table is locked for a long time: only the calls that need the table are delayed. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { callLimit, isShort } from './support/form.ts'
import { type Call, expectBounded, startLoad } from './support/load.ts'
import { startWorld } from './support/start.ts'
import type { Operation } from './support/world.ts'

/** For how long calls are counted before and after the lock, and for how long the lock is held, in milliseconds. */
const durations = { free: 5_000, locked: isShort ? 8_000 : 30_000 }

/**
 * The limits for calls that do not need the table: the minimum share of their throughput that remains, and the maximum
 * time of an answer in milliseconds.
 */
const others = { kept: 0.8, slowest: 1_000 }

const { server, world, start } = await startWorld('locks')
const service = await start()

/** Starts a load of the operations whose names begin with `prefix`, or of all other operations. */
function startPart(prefix: string, hasPrefix: boolean) {
  const isWanted = ({ name }: Operation) => name.startsWith(prefix) === hasPrefix
  const owners = world.owners.map(owner => ({ ...owner, operations: owner.operations.filter(isWanted) }))
  return startLoad(() => service.origin, { ...world, owners })
}

const slowest = (calls: readonly Call[]) => Math.max(...calls.map(({ took }) => took))

test.each([
  ['a table that is read', 'lock table gateway.customer', 'signup'],
  ['the audit, which reading personal data writes', 'lock table gateway.audit_entry in exclusive mode', 'signup'],
  [
    'the vouchers by their names, the tables of counts, and the tokens that were used',
    `lock table gateway.voucher_entry; lock table gateway.request_count, gateway.request_error in exclusive mode;
     select from gateway.token for update`,
    'resolution',
  ],
])('when %s is locked, calls that do not need the table still succeed', async (_, statement, heldUp) => {
  const [needing, other] = [startPart(heldUp, true), startPart(heldUp, false)]
  await needing.succeed(100)
  await other.succeed(300)
  const start = performance.now()
  await pause(durations.free)
  const locked = performance.now()
  await server.use(world.database, sql =>
    sql.begin(async transaction => {
      await transaction.unsafe(statement)
      await pause(durations.locked)
    }),
  )
  const unlocked = performance.now()
  await needing.succeed(100)
  const free = performance.now()
  await pause(durations.free)
  const end = performance.now()
  const all = await other.stop()
  const held = await needing.stop()

  const between = (from: number, to: number) => all.filter(({ sent }) => sent >= from && sent < to)
  const rate = (from: number, to: number) => (1_000 * between(from, to).length) / (to - from)
  const during = between(locked, unlocked)
  // The usual rate is the mean before and after the lock, because other work of the machine changes the rate.
  const [usual, now] = [(rate(start, locked) + rate(free, end)) / 2, rate(locked, unlocked)]
  const summary = `${usual.toFixed(0)} calls a second usually, ${now.toFixed(0)} while it is locked; slowest ${slowest(during).toFixed(0)} ms; held up: ${slowest(held).toFixed(0)} ms`
  if (process.env.FAULTS_PRINT) console.log(summary)
  expect(all.filter(({ status }) => status !== 200)).toEqual([])
  expect(slowest(during), summary).toBeLessThan(callLimit)
  if (!isShort) {
    expect(now / usual, summary).toBeGreaterThan(others.kept)
    expect(slowest(during), summary).toBeLessThan(others.slowest)
  }
  expectBounded(held, summary)
  const failed = held.filter(({ status }) => status === 503)
  expect(failed.length).toBeGreaterThan(0)
  for (const { retryAfter } of failed) expect(retryAfter).toMatch(/^[1-5]$/)
})
