/**
 * Tests how long refusals are delayed. No service runs in this file, because its timers would use the fake clock of the
 * tests.
 */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createRefusalHold } from '../../src/http/limits/hold-refusals.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function createHold() {
  const state = { stopping: false }
  const hold = createRefusalHold(() => state.stopping)
  const sent: number[] = []
  const refuse = (count: number) => {
    for (let each = 0; each < count; each++) hold(() => sent.push(each))
  }
  return { state, sent, refuse }
}

test('the first refusal is sent after half a second, then some 1,000 per second, in order', async () => {
  const { sent, refuse } = createHold()
  refuse(2_000)
  await vi.advanceTimersByTimeAsync(480)
  expect(sent).toEqual([])
  await vi.advanceTimersByTimeAsync(1_020)
  expect(sent.length).toBeGreaterThan(900)
  expect(sent.length).toBeLessThan(1_200)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(sent).toEqual(Array.from({ length: 2_000 }, (_, index) => index))
})

test('no refusal waits longer than four seconds', async () => {
  const { sent, refuse } = createHold()
  refuse(20_000)
  await vi.advanceTimersByTimeAsync(4_020)
  expect(sent).toHaveLength(20_000)
})

test('when 20,000 refusals wait, a further refusal is sent immediately', async () => {
  const { sent, refuse } = createHold()
  refuse(20_001)
  await vi.advanceTimersByTimeAsync(0)
  expect(sent).toEqual([20_000])
})

test('all waiting refusals are sent when the service is about to stop', async () => {
  const { state, sent, refuse } = createHold()
  refuse(10_000)
  state.stopping = true
  await vi.advanceTimersByTimeAsync(20)
  expect(sent).toHaveLength(10_000)
})
