// Tests the pure functions of the dashboard: comparisons, plots and CSV.
import { expect, test } from 'vitest'
import { ticksFor } from '../../packages/charts/src/bar-plot.tsx'
import { type Comparison, changeFrom, comparedDays, comparisons } from '../../packages/dashboard/src/comparison.ts'
import { toCsv } from '../../packages/dashboard/src/csv.ts'
import { addAmounts, formatMoney } from '../../packages/dashboard/src/format.ts'
import { startOfDay } from '../../packages/dashboard/src/instant.ts'
import { readOrder, toQuery } from '../../packages/dashboard/src/vouchers/filter.ts'

const today = '2026-11-27'

test.each<[Comparison, string, string, string, string, string]>([
  ['last-year', '2026-01-01', today, '2025-01-01', '2025-11-27', 'the same days'],
  ['last-year', '2026-01-01', '2026-12-31', '2025-01-01', '2025-11-27', 'a period that is not over until today'],
  ['last-year', '2026-03-01', '2026-03-31', '2025-03-01', '2025-03-31', 'the same month'],
  ['last-year', '2024-02-01', '2024-02-29', '2023-02-01', '2023-02-28', '29 February with 28 February'],
  ['last-year', '2025-02-28', '2025-02-28', '2024-02-28', '2024-02-28', 'a day with one day'],
  ['before', '2026-03-01', '2026-03-31', '2026-01-29', '2026-02-28', '31 days with the 31 days before'],
  ['before', '2026-01-01', '2026-03-31', '2025-10-03', '2025-12-31', '90 days with the 90 days before'],
  ['before', today, '2027-01-31', '2026-11-26', '2026-11-26', 'today with yesterday'],
])('compares with %s: %s to %s with %s to %s, %s', (comparison, from, to, fromBefore, toBefore) => {
  expect(comparedDays({ from, to }, comparison, today)).toEqual({ from: fromBefore, to: toBefore })
})

test('compares no values for a period that has not yet begun', () => {
  const days = { from: '2026-11-28', to: '2026-11-30' }
  expect(comparisons.map(comparison => comparedDays(days, comparison, today))).toEqual([null, null, null])
})

test('shows no change when the earlier value is zero or missing', () => {
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

test('shows all digits of an amount, even when browsers use fewer digits for its currency', () => {
  for (const currency of [...Intl.supportedValuesOf('currency'), 'XYZ', null]) {
    const shown = [25, 25.5, 0.07, 1.385].map(amount => /\d[\d.]*/.exec(formatMoney(amount, currency))?.[0])
    expect(shown.map(Number), `${currency}`).toEqual([25, 25.5, 0.07, 1.385])
  }
  expect(formatMoney(1204.5, 'GBP')).toBe('£1,204.50')
})

test('writes CSV that spreadsheets open correctly, without a formula to run', () => {
  const lines: [cells: [title: string, value: number | null], line: string][] = [
    [['=HYPERLINK("https://example.com")', 12.5], `"'=HYPERLINK(""https://example.com"")",12.5`],
    [['+1', -3], `"'+1",-3`],
    [['-1', null], `"'-1",`],
    [['@sum', 0], `"'@sum",0`],
    [['a, "b"\nc', 25], '"a, ""b""\nc",25'],
    [['Spa;=1+2', 0.07], '"Spa;=1+2",0.07'],
  ]
  const csv = toCsv(
    ['Title', 'Value'],
    lines.map(([cells]) => cells),
  )
  expect(csv).toBe(['\ufeff"Title","Value"', ...lines.map(([, line]) => line), ''].join('\r\n'))
})

test.each([
  ['2026-01-01', 'Asia/Kolkata', '2025-12-31T18:30:00.000Z'],
  ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z'],
  ['2026-03-30', 'Europe/Berlin', '2026-03-29T22:00:00.000Z'],
  ['2026-11-02', 'America/New_York', '2026-11-02T05:00:00.000Z'],
  // On this day the clocks went from 24:00 to 01:00.
  ['2018-11-04', 'America/Sao_Paulo', '2018-11-04T03:00:00.000Z'],
  // PostgreSQL knows this time zone, and browsers do not.
  ['2026-07-01', 'posix/Europe/Berlin', '2026-07-01T00:00:00.000Z'],
])('%s in the time zone %s begins at %s', (day, timeZone, instant) => {
  expect(startOfDay(day, timeZone)).toBe(instant)
})

test('reads the filters of an address, and ignores invalid values', () => {
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
      status: ['VOID', 'EXPIRED'],
      productId: '12',
      purchased: { from: '2026-05-31T22:00:00.000Z', before: '2026-06-30T22:00:00.000Z' },
      currency: 'EUR',
      balance: { from: 12.5, to: null },
    },
    orderBy: { field: 'VALID_UNTIL', direction: 'ASC' },
  })
  expect(readOrder('-nonsense')).toEqual({ field: 'purchased', descending: true })
})
