/** Measures each figure at tenants of several sizes. */
import type { Pool } from '../../src/db/sql.ts'
import type { Selection } from '../../src/domain/figures/figure.ts'
import type { FigureInterval } from '../../src/domain/figures/period.ts'
import { cutPeriod } from '../../src/domain/figures/period.ts'
import { readFigures } from '../../src/domain/figures/read.ts'
import type { Token } from '../../src/domain/token/token.ts'
import { processCpu } from '../harness/cpu-time.ts'
import { median, quantile } from '../harness/report.ts'
import { type Size, treeOf } from '../harness/seed.ts'

/** Returns the tenants whose figures are read. */
export function scopesOf(size: Size) {
  const { root, firstGroup, firstLeaf, last } = treeOf(size)
  return {
    'whole group': { tenantId: root, withDescendants: true },
    'middle group': { tenantId: firstGroup, withDescendants: true },
    'largest tenant': { tenantId: firstLeaf, withDescendants: false },
    'small tenant': { tenantId: last - 10, withDescendants: false },
  }
}

const nothing: Selection = {
  periods: false,
  totals: false,
  consents: false,
  outstanding: false,
  status: false,
  expiring: [],
  topProducts: [],
}

const topTen = { first: 10, by: 'PAID', currency: null } as const

/** The figures of a period, and the current figures. */
const ofPeriod: Record<string, Partial<Selection>> = {
  periods: { periods: true },
  totals: { totals: true },
  consents: { consents: true },
  topProducts: { topProducts: [topTen] },
}
const ofNow: Record<string, Partial<Selection>> = {
  outstanding: { outstanding: true },
  expiring: { expiring: [30] },
  status: { status: true },
  'all figures': {
    ...{ periods: true, totals: true, consents: true, outstanding: true, status: true },
    expiring: [30],
    topProducts: [topTen],
  },
}

const periods: { name: string; days: number; by: FigureInterval; timeZone?: string }[] = [
  { name: 'a year by day', days: 365, by: 'DAY' },
  { name: 'a year by week', days: 365, by: 'WEEK' },
  { name: 'five years by month', days: 1825, by: 'MONTH' },
  { name: 'a year by day, Asia/Kolkata', days: 365, by: 'DAY', timeZone: 'Asia/Kolkata' },
]

const token: Token = {
  id: 1,
  name: 'benchmark',
  permissions: [],
  tenants: [{ tenantId: 1, withDescendants: true }],
  rateLimit: null,
  expiresAt: null,
}

const dayText = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10)

/**
 * @param sql one connection
 * @returns a row for each figure and period: the times of each scope
 */
export async function measureFigures(sql: Pool, size: Size, reads: number): Promise<string[][]> {
  const [backend] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const clock = processCpu(backend?.pid ?? 0)
  const rows: string[][] = []
  for (const { name, days, by, timeZone = null } of periods) {
    const intervals = cutPeriod({ from: dayText(days), to: dayText(0) }, by, {})
    const selections = by === 'MONTH' ? { ...ofPeriod, ...ofNow } : ofPeriod
    for (const [figure, selection] of Object.entries(selections)) {
      const cells: string[] = []
      for (const scope of Object.values(scopesOf(size))) {
        const busy: number[] = []
        const times: number[] = []
        // The first read warms up: its plan, and the pages that it reads.
        for (let read = 0; read <= reads; read++) {
          const [run, start] = [clock(), performance.now()]
          const request = { ...scope, intervals, by, timeZone }
          await readFigures(sql, token, [{ request, selection: { ...nothing, ...selection } }])
          if (read === 0) continue
          times.push(performance.now() - start)
          busy.push((clock() - run) * 1000)
        }
        cells.push([median(busy), median(times), quantile(times, 0.95)].map(time => time.toFixed(1)).join(' / '))
      }
      rows.push([figure, figure in ofNow ? (figure === 'all figures' ? name : 'now') : name, ...cells])
    }
  }
  return rows
}
