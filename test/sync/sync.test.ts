import { expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { createDatabase } from '../support/database.ts'
import { formatReport, lostByClients, lostByControl } from './report.ts'
import { stress } from './run.ts'

const database = await createDatabase()
const { app } = await createApp(database, { RATE_LIMIT_PER_MINUTE: '1000000' })

test('clients that resume miss nothing, whatever the writers do; the control does', { timeout: 60_000 }, async () => {
  const options = { seconds: 8, writers: 8, longest: 2, seed: 1711, bulkRows: 300, hold: 0 }
  const report = await stress(database.address, app, options)
  expect(lostByClients(report), formatReport(report, options)).toBe(0)
  expect(lostByControl(report), 'a check that cannot fail proves nothing').toBeGreaterThan(0)
})
