import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createRefusalHold } from '../../src/http/hold-refusals.ts'
import { type Answer, createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'

const database = await createDatabase()
const { rest } = await createApp(database, { MAX_REQUESTS: '10' })
const build = createBuilders(database)
const tenantId = await build.tenant()

test('requests beyond the rate are held before they are refused, and take no place from others', async () => {
  const { secret } = await build.token([tenantId], { rateLimit: 1 })
  const other = await build.token([tenantId])
  await rest(secret, '/tenants')
  const refused: Promise<Answer>[] = []
  let held = 0
  let mostHeld = 0
  for (let round = 0; round < 20; round++) {
    held++
    refused.push(rest(secret, '/tenants').finally(() => held--))
    expect((await rest(other.secret, '/tenants')).status).toBe(200)
    mostHeld = Math.max(mostHeld, held)
  }
  expect(mostHeld).toBeGreaterThan(1)
  expect((await Promise.all(refused)).map(({ status }) => status)).toEqual(refused.map(() => 429))
})

describe('refusals', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** Holds refusals, and records which were sent. */
  function open() {
    const state = { stopping: false }
    const hold = createRefusalHold(() => state.stopping)
    const sent: number[] = []
    const refuse = (count: number) => {
      for (let each = 0; each < count; each++) hold(() => sent.push(each))
    }
    return { state, sent, refuse }
  }

  test('a refusal is sent after half a second', async () => {
    const { sent, refuse } = open()
    for (let round = 1; round <= 2; round++) {
      refuse(1)
      await vi.advanceTimersByTimeAsync(480)
      expect(sent).toHaveLength(round - 1)
      await vi.advanceTimersByTimeAsync(40)
      expect(sent).toHaveLength(round)
    }
  })

  test('many are sent in order, some 1,000 in a second', async () => {
    const { sent, refuse } = open()
    refuse(2_000)
    await vi.advanceTimersByTimeAsync(1_500)
    expect(sent.length).toBeGreaterThan(900)
    expect(sent.length).toBeLessThan(1_200)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(sent).toEqual(Array.from({ length: 2_000 }, (_, index) => index))
  })

  test('none waits longer than four seconds', async () => {
    const { sent, refuse } = open()
    refuse(20_000)
    await vi.advanceTimersByTimeAsync(3_000)
    expect(sent.length).toBeLessThan(5_000)
    await vi.advanceTimersByTimeAsync(1_020)
    expect(sent).toHaveLength(20_000)
  })

  test('one beyond 20,000 is sent at once', async () => {
    const { sent, refuse } = open()
    refuse(20_001)
    await vi.advanceTimersByTimeAsync(0)
    expect(sent).toEqual([20_000])
  })

  test('all are sent when the service is about to stop', async () => {
    const { state, sent, refuse } = open()
    refuse(10_000)
    state.stopping = true
    await vi.advanceTimersByTimeAsync(20)
    expect(sent).toHaveLength(10_000)
  })
})
