/** Instances that count the rate in PostgreSQL; `test/faults/workers.test.ts` has processes. */
import { expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { collectLog } from '../support/log.ts'
import { testInstances } from './rate-instances.ts'
import { createWorld } from './support.ts'

const world = await createWorld()

await testInstances(world, { RATE_STORE: 'postgres' })

test.each([
  ['says so at start when it counts in memory', {}, true],
  ['says nothing when it counts in PostgreSQL', { RATE_STORE: 'postgres' }, false],
])('an instance %s', async (_what, store, says) => {
  const { log, text } = collectLog()
  await createApp(world, { DATABASE_URL: world.url, LOG_LEVEL: 'info', ...store }, log)
  expect(text().includes('several instances need RATE_STORE=postgres')).toBe(says)
})
