/** Tests the address of a view, and the arithmetic of its periods. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { comparisons } from '../../packages/dashboard/src/comparison.ts'
import {
  addDays,
  countIntervals,
  dayIn,
  daysOf,
  defaultInterval,
  intervals,
  isDay,
  isIntervalAllowed,
  presets,
} from '../../packages/dashboard/src/period.ts'
import { type Change, hrefOf, readAddress, resolveView, type View } from '../../packages/dashboard/src/view.ts'

const today = '2026-11-22'
const readView = (search: string, tenant = '1') => resolveView(readAddress(search), tenant, today)

const day = fc.integer({ min: -8_000, max: 3_000 }).map(days => addDays(today, days))
/** Names of parameters that only a part of the page uses, and the view does not read. */
const parameterName = fc.stringMatching(/^table-[a-z]{1,4}$/)
const change: fc.Arbitrary<Change> = fc.record(
  {
    tenant: fc.integer({ min: 1, max: 9e15 }).map(String),
    withDescendants: fc.boolean(),
    period: fc.constantFrom(...presets),
    by: fc.constantFrom(...intervals),
    comparison: fc.constantFrom(...comparisons),
    timeZone: fc.constantFrom('Europe/Berlin', 'Asia/Kolkata', null),
    currency: fc.constantFrom('EUR', 'GBP', null),
    isLive: fc.boolean(),
    voucher: fc.constantFrom('VjoxMg==', null),
    params: fc.dictionary(parameterName, fc.string(), { maxKeys: 3 }),
  },
  { requiredKeys: [] },
)
const dayRange = fc
  .tuple(day, day)
  .map(([one, other]) => (one < other ? { from: one, to: other } : { from: other, to: one }))

/** Returns a change without the parts that the view drops: an interval that is too short, and removed parameters. */
function omitDropped({ by: _by, params = {}, ...rest }: Change, view: View): Change {
  const kept = Object.entries(params).filter(([, value]) => value !== '')
  return { ...rest, params: { ...view.params, ...Object.fromEntries(kept) } }
}

test('an address without parameters shows the last twelve months of the tenant and its descendants', () => {
  const year = { period: 'last-12-months', from: '2025-12-01', to: today, by: 'MONTH' }
  expect(readView('', '7')).toMatchObject({ tenant: '7', withDescendants: true, ...year, isLive: true, currency: null })
})

test('the address of a view reproduces the view after any series of changes', () => {
  const steps = fc.array(fc.oneof(change, dayRange), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(steps, changes => {
      let view: View = readView('')
      for (const next of changes) {
        view = readView(hrefOf(view, next))
        expect(view).toMatchObject('from' in next ? next : omitDropped(next, view))
        expect(readView(hrefOf(view))).toEqual(view)
        expect(isIntervalAllowed(view, view.by)).toBe(true)
      }
    }),
  )
})

test.each<[string, Partial<View>, ...faults: string[]]>([
  ['?tenant=1&period=this-year&currency=gbp', { period: 'this-year', currency: 'GBP' }],
  ['?tenant=0', { tenant: '1' }, '“0”'],
  ['?tenant=1%20or%201', { tenant: '1' }, '“1 or 1”'],
  ['?period=ever', { period: 'last-12-months' }, '“ever”'],
  ['?from=2026-02-30&to=2026-03-01', { period: 'last-12-months' }, 'Give both days'],
  ['?to=2026-03-01', { period: 'last-12-months' }, 'Give both days'],
  ['?from=2026-03-02&to=2026-03-01&currency=pounds', { currency: null }, 'must not be after', '“pounds”'],
  ['?from=1900-01-01&to=2026-03-01', { period: 'last-12-months' }, '400'],
  ['?from=2026-03-01&to=2026-03-01', { period: 'custom', from: '2026-03-01', to: '2026-03-01', by: 'DAY' }],
  ['?from=2020-01-01&to=2026-03-01&by=day', { by: 'MONTH' }],
  ['?by=hour', { by: 'MONTH' }],
  ['?compare=none', { comparison: 'none', compared: null }],
  ['?compare=before', { comparison: 'before', compared: { from: '2024-12-09', to: '2025-11-30' } }],
  ['?compare=ever', { comparison: 'last-year' }, '“ever”'],
  ['?below=yes', { withDescendants: true }],
])('the address %s shows what can be shown, and says what is not valid', (search, expected, ...faults) => {
  expect(readView(search)).toMatchObject(expected)
  expect(readAddress(search).faults).toEqual(faults.map(words => expect.stringContaining(words)))
})

test('the address of another tenant names no voucher and no page of a table', () => {
  const view = readView('?tenant=1&voucher=Vjox&after=x&period=this-year&zone=UTC')
  expect(hrefOf(view, { tenant: '2' })).toBe('?tenant=2&period=this-year')
  expect(hrefOf(view, { params: { after: '', tenant: '9' } })).toBe('?tenant=1&period=this-year&zone=UTC&voucher=Vjox')
})

test.each<Change>([
  { withDescendants: false },
  { currency: 'EUR' },
  { timeZone: 'Asia/Tokyo' },
  { tenant: '2' },
  { period: 'today' },
  { from: '2026-01-01', to: '2026-01-31' },
])('the address names no place in a list that changes with %o', other => {
  const view = readView('?tenant=1&after=x&before=y&currency=GBP&table=vouchers')
  expect(readView(hrefOf(view, { by: 'WEEK', currency: 'GBP' })).params).toMatchObject({ after: 'x', before: 'y' })
  const { after, before } = readView(hrefOf(view, other)).params
  expect([after, before]).toEqual([undefined, undefined])
  expect(readView(hrefOf(view, { ...other, params: { after: 'z' } })).params.after).toBe('z')
})

test('the address of another period has the default interval of that period', () => {
  const weeks = readView('?tenant=1&period=this-year&by=week')
  expect(readView(hrefOf(weeks, { currency: 'EUR' })).by).toBe('WEEK')
  expect(readView(hrefOf(weeks, { period: 'last-30-days' })).by).toBe('DAY')
  expect(readView(hrefOf(weeks, { from: '2024-01-01', to: '2025-12-31' })).by).toBe('MONTH')
})

test('a named period ends today, or before the current month, quarter or year', () => {
  const daysOn = (day: string) => presets.map(preset => Object.values(daysOf(preset, day)).join(' '))
  expect(daysOn('2026-03-31')).toEqual([
    ...['2026-03-31 2026-03-31', '2026-03-25 2026-03-31', '2026-03-02 2026-03-31', '2026-03-01 2026-03-31'],
    ...['2026-02-01 2026-02-28', '2026-01-01 2026-03-31', '2025-10-01 2025-12-31', '2026-01-01 2026-03-31'],
    ...['2025-01-01 2025-12-31', '2025-04-01 2026-03-31'],
  ])
})

test('a period has weeks that begin on Monday; the first and last week are cut at the ends of the period', () => {
  expect(countIntervals({ from: '2026-11-22', to: '2026-11-23' }, 'WEEK')).toBe(2)
  expect(countIntervals({ from: '2026-11-23', to: '2026-11-29' }, 'WEEK')).toBe(1)
  expect(countIntervals({ from: '2026-01-31', to: '2026-02-01' }, 'MONTH')).toBe(2)
  expect(countIntervals({ from: '2024-02-28', to: '2024-03-01' }, 'DAY')).toBe(3)
})

test('a period is shown by day up to two months, and then by month', () => {
  expect(defaultInterval({ from: '2026-01-01', to: '2026-03-03' })).toBe('DAY')
  expect(defaultInterval({ from: '2026-01-01', to: '2026-03-04' })).toBe('MONTH')
})

test('a period begins and ends with the days of a time zone', () => {
  const at = new Date('2026-11-22T20:00:00Z')
  expect(dayIn('Asia/Kolkata', at)).toBe('2026-11-23')
  expect(dayIn('America/New_York', at)).toBe('2026-11-22')
  expect(dayIn('Nowhere/Else', at)).toBe('2026-11-22')
  expect([isDay('2026-02-29'), isDay('2024-02-29'), isDay('0202-01-01')]).toEqual([false, true, false])
})
