// Tests which changes make the dashboard read again, and how often.
import { expect, test } from 'vitest'
import { nextRefresh } from '../../packages/dashboard/src/live.ts'
import { mayBeWithin, type TreeTenant } from '../../packages/dashboard/src/tenants.ts'

const parents: Record<string, string | null> = { 1: null, 2: '1', 3: '2', 4: '1', 9: '8' }
const tenants = new Map<string, TreeTenant>(
  Object.entries(parents).map(([id, parentId]) => [id, { id, parentId, name: id, timeZone: 'UTC' }]),
)

test.each([
  ['2', '2', true],
  ['3', '2', true],
  ['1', '2', false],
  ['4', '2', false],
  // The paths of the tenants 9 and 7 are not known.
  ['9', '2', true],
  ['7', '2', true],
])('a change in tenant %s may concern a view of tenant %s: %s', (id, above, expected) => {
  expect(mayBeWithin(tenants, ['1'], id, above)).toBe(expected)
})

const seconds = (number: number) => 1_000_000 + number * 1000

test.each([
  ['at most once a second', { remaining: 120, cost: 25, refreshedAt: 9.5 }, 10.5],
  ['at once while three quarters are left', { remaining: 90, cost: 25, refreshedAt: 1 }, 2],
  ['spread over the minute until a half is left', { remaining: 85, cost: 10, refreshedAt: 10 }, 34],
  ['in the next minute when less than a half would be left', { remaining: 100, cost: 41, refreshedAt: 10 }, 70],
  ['also after a person has used more than the half', { remaining: 3, cost: 1, refreshedAt: 10 }, 70],
  ['never when it costs more than the half', { remaining: 120, cost: 61, refreshedAt: 10 }, Number.POSITIVE_INFINITY],
])('refreshes are %s', (_name, { remaining, cost, refreshedAt }, expected) => {
  const rate = { cost: null, limit: 120, remaining, resetsIn: 60, readAt: seconds(10) }
  expect(nextRefresh(rate, cost, seconds(refreshedAt))).toBe(seconds(expected))
})
