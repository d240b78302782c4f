import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createClockWatch } from '../../src/domain/sync/clock.ts'
import { createDatabase } from '../support/database.ts'

const { pool, platform } = await createDatabase()

/** Returns from when on the removals are complete, in milliseconds; null when no full pass was required. */
async function completeSince(): Promise<number | null> {
  const [state] = await platform<{ since: number | null }[]>`
    select extract(epoch from nullif(removals_complete_since, '-infinity')) * 1000 as since from gateway.sync_state`
  return state?.since ?? null
}

/** Creates a watch, by default with the clock of the process, and collects the steps that it reports. */
function createWatch(now?: () => number) {
  const steps: (number | null)[] = []
  return { steps, watch: createClockWatch(pool, step => steps.push(step), now) }
}

test('a clock that runs normally is steady', async () => {
  const { steps, watch } = createWatch()
  for (let checks = 0; checks < 20; checks++) await watch.check()
  await watch.compareStamps()
  expect(steps).toEqual([])
  expect(() => watch.requireSteady()).not.toThrow()
})

test.each([
  ['slower', 1.09],
  ['faster', 0.91],
])('a clock that NTP slews is steady: %s', async (_, rate) => {
  const { steps, watch } = createWatch(() => performance.now() * rate)
  for (let checks = 0; checks < 4; checks++) {
    await watch.check()
    await pause(200)
  }
  expect(steps).toEqual([])
  expect(() => watch.requireSteady()).not.toThrow()
  expect(await completeSince()).toBeNull()
})

test('after a step back pages are refused until the clock is where it was, and a full pass is required', async () => {
  let ownClock = 0
  const { steps, watch } = createWatch(() => ownClock)
  await watch.check()
  expect(() => watch.requireSteady()).not.toThrow()

  // By the service's own clock a minute has passed; by the database's clock less.
  ownClock += 60_000
  const before = Date.now()
  await watch.check()
  expect(steps).toHaveLength(1)
  expect(steps[0]).toBeGreaterThan(50_000)
  expect(() => watch.requireSteady()).toThrow('clock')
  expect(await completeSince()).toBeGreaterThan(before + 50_000)

  ownClock += 0.001
  await watch.check()
  expect(steps).toHaveLength(1)
  expect(() => watch.requireSteady()).toThrow('clock')
})

test('a full pass that could not be required is required at the next check', async () => {
  let ownClock = 0
  const { watch } = createWatch(() => ownClock)
  await watch.check()
  ownClock += 3_600_000
  const before = Date.now()
  await platform`alter function gateway.require_full_pass rename to renamed`
  await expect(watch.check()).rejects.toMatchObject({ code: '42883' })
  await platform`alter function gateway.renamed rename to require_full_pass`
  await watch.check()
  expect(await completeSince()).toBeGreaterThan(before + 3_500_000)
})
