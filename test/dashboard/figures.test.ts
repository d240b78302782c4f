// The pure functions of the dashboard: comparisons, plots and CSV.
import { expect, test } from 'vitest'
import { ticksFor } from '../../packages/charts/src/index.ts'
import { changeFrom, periodBefore } from '../../packages/dashboard/src/comparison.ts'
import { toCsv } from '../../packages/dashboard/src/csv.ts'
import { expiriesOf } from '../../packages/dashboard/src/figures/expiry.ts'
import { addAmounts } from '../../packages/dashboard/src/format.ts'
import { startOfDay } from '../../packages/dashboard/src/instant.ts'
import { addDays, daysOf, type Period } from '../../packages/dashboard/src/period.ts'
import { dropUnknownOrder, readOrder, toQuery } from '../../packages/dashboard/src/vouchers/filter.ts'

test.each<[string, string, string, string, string, Period?]>([
  ['2026-11-10', '2026-11-16', '2026-11-03', '2026-11-09', 'as many days directly before'],
  ['2026-11-01', '2026-11-30', '2026-10-01', '2026-10-31', 'the month before, whole'],
  ['2026-03-01', '2026-03-31', '2026-02-01', '2026-02-28', 'a shorter month before'],
  ['2026-11-01', '2026-11-22', '2026-10-01', '2026-10-22', 'the same days of the month before'],
  ['2026-03-01', '2026-03-30', '2026-02-01', '2026-02-28', 'days that the month before does not have'],
  ['2026-01-01', '2026-12-31', '2025-01-01', '2025-12-31', 'the year before'],
  ['2025-12-01', '2026-11-22', '2024-12-01', '2025-11-22', 'twelve months before'],
  ['2026-07-01', '2026-09-30', '2026-04-01', '2026-06-30', 'three months before'],
  ['2026-01-01', '2026-11-22', '2025-01-01', '2025-11-22', 'this year with the year before', 'this-year'],
  ['2024-01-01', '2024-02-29', '2023-01-01', '2023-02-28', 'a leap day with the day before', 'this-year'],
])('compares %s to %s with %s to %s: %s', (from, to, fromBefore, toBefore, _, period = 'custom') => {
  expect(periodBefore({ from, to }, period)).toEqual({ from: fromBefore, to: toBefore })
})

test('compares the last 30 days with the 30 days before them, on every day of a year', () => {
  for (const offset of Array(366).keys()) {
    const { from, to } = daysOf('last-30-days', addDays('2028-01-01', offset))
    expect(periodBefore({ from, to }, 'last-30-days')).toEqual({ from: addDays(from, -30), to: addDays(from, -1) })
  }
})

test('says no change when there is nothing to compare with', () => {
  expect(changeFrom(0, 5)).toBeNull()
  expect(changeFrom(200, 250)).toBe(0.25)
})

test.each([
  [0, [0, 1]],
  [3, [0, 1, 2, 3]],
  [17_518, [0, 5000, 10_000, 15_000, 20_000]],
  [0.4, [0, 1]],
])('puts ticks for %s', (most, ticks) => {
  expect(ticksFor(most)).toEqual(ticks)
})

test('adds amounts exactly', () => {
  expect(addAmounts([0.1, 0.2])).toBe(0.3)
  expect(addAmounts([1.005, 2.01, 0.07])).toBe(3.085)
})

test('writes CSV that spreadsheets open as it is, and run no part of', () => {
  const csv = toCsv(
    ['Title', 'Value'],
    [
      ['=HYPERLINK("https://example.com")', 12.5],
      ['+1', -3],
      ['-1', null],
      ['@sum', 0],
      ['a, "b"\nc', 25],
      ['Zoë', 0.07],
      ['Spa;=1+2', 1],
    ],
  )
  expect(csv).toBe(
    [
      '\ufeff"Title","Value"',
      `"'=HYPERLINK(""https://example.com"")",12.5`,
      `"'+1",-3`,
      `"'-1",`,
      `"'@sum",0`,
      '"a, ""b""\nc",25',
      '"Zoë",0.07',
      '"Spa;=1+2",1',
      '',
    ].join('\r\n'),
  )
})

test('shows the months in which nothing expires, and adds up what comes later', () => {
  const figures = [
    { month: '2026-12-01', vouchers: 2, balance: 20.1 },
    { month: '2027-02-01', vouchers: 1, balance: 5 },
    { month: '2030-01-01', vouchers: 1, balance: 0.1 },
    { month: '2031-01-01', vouchers: 1, balance: 0.2 },
    { month: null, vouchers: 3, balance: 9 },
  ]
  expect(expiriesOf(figures, '2026-11-22', 4)).toEqual([
    { month: '2026-11-01', vouchers: 0, balance: 0 },
    { month: '2026-12-01', vouchers: 2, balance: 20.1 },
    { month: '2027-01-01', vouchers: 0, balance: 0 },
    { month: '2027-02-01', vouchers: 1, balance: 5 },
    { month: 'later', vouchers: 2, balance: 0.3 },
    { month: 'never', vouchers: 3, balance: 9 },
  ])
  expect(expiriesOf([], '2026-11-22')).toEqual([])
})

test.each([
  ['2026-07-01', 'Europe/London', '2026-06-30T23:00:00.000Z'],
  ['2026-01-01', 'Asia/Kolkata', '2025-12-31T18:30:00.000Z'],
  ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z'],
  ['2026-03-30', 'Europe/Berlin', '2026-03-29T22:00:00.000Z'],
  ['2026-11-01', 'America/New_York', '2026-11-01T04:00:00.000Z'],
  ['2026-11-02', 'America/New_York', '2026-11-02T05:00:00.000Z'],
  // Clocks went from 24:00 to 01:00.
  ['2018-11-04', 'America/Sao_Paulo', '2018-11-04T03:00:00.000Z'],
  // PostgreSQL knows it, browsers do not.
  ['2026-07-01', 'posix/Europe/Berlin', '2026-07-01T00:00:00.000Z'],
])('begins %s in %s at %s', (day, timeZone, instant) => {
  expect(startOfDay(day, timeZone)).toBe(instant)
})

test('reads the filters of an address, and leaves out what it cannot read', () => {
  const place = { timeZone: 'Europe/Berlin', currency: 'EUR' }
  expect(toQuery({}, place)).toEqual({ filter: {}, orderBy: { field: 'PURCHASED_AT', direction: 'DESC' } })
  const params = {
    text: ' heron ',
    status: 'VOID,nonsense,EXPIRED',
    product: '12',
    'bought-from': '2026-06-01',
    'bought-to': '2026-06-30',
    'valid-to': '2026-02-30',
    least: '12,50',
    most: 'many',
    sort: 'valid-until',
  }
  expect(toQuery(params, place)).toEqual({
    filter: {
      text: 'heron',
      status: ['EXPIRED', 'VOID'],
      productId: '12',
      purchased: { from: '2026-05-31T22:00:00.000Z', before: '2026-06-30T22:00:00.000Z' },
      currency: 'EUR',
      balance: { from: 12.5, to: null },
    },
    orderBy: { field: 'VALID_UNTIL', direction: 'ASC' },
  })
  expect(readOrder('-nonsense')).toEqual({ field: 'purchased', descending: true })
})

test('leaves out an order that the list does not have, with the page in it', () => {
  const page = { status: 'VOID', after: 'x' }
  expect(dropUnknownOrder({ ...page, sort: 'reference' })).toEqual({ status: 'VOID', sort: '', after: '', before: '' })
  for (const params of [
    page,
    { ...page, sort: '' },
    { ...page, sort: '-purchased' },
    { ...page, sort: 'valid-until' },
  ]) {
    expect(dropUnknownOrder(params)).toEqual(params)
  }
})
