import { expect, test } from 'vitest'
import { createClockWatch } from '../../src/domain/clock.ts'
import { createDatabase } from '../support/database.ts'

const { pool } = await createDatabase()

test('pages are refused from when the clock steps back until it is where it was', async () => {
  const steps: number[] = []
  let ours = 0
  const watch = createClockWatch(
    pool,
    step => steps.push(step),
    () => ours,
  )
  await watch.look()
  expect(() => watch.requireSteady()).not.toThrow()

  // To us a minute has passed; the database's clock has gone on by less.
  ours += 60_000
  await watch.look()
  expect(steps).toHaveLength(1)
  expect(steps[0]).toBeGreaterThan(50_000)
  expect(() => watch.requireSteady()).toThrow('clock')

  ours += 0.001
  await watch.look()
  expect(steps).toHaveLength(1)
  expect(() => watch.requireSteady()).toThrow('clock')
})

test('a clock that goes on, or ahead, is steady', async () => {
  const steps: number[] = []
  const watch = createClockWatch(pool, step => steps.push(step))
  for (let looks = 0; looks < 20; looks++) await watch.look()
  expect(steps).toEqual([])
  expect(() => watch.requireSteady()).not.toThrow()
})
