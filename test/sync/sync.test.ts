import { afterAll, expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { createDatabase } from '../support/database.ts'
import { startPublisher } from './publisher.ts'
import { formatReport, wrongInClients, wrongInControls } from './report.ts'
import { stress } from './run.ts'

const database = await createDatabase()
const { app } = await createApp(database, { RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000000' })
const publisher = await startPublisher()
afterAll(() => publisher.stop())

test('clients end with exactly what the service holds, whatever writers do; the controls do not', {
  timeout: 300_000,
}, async () => {
  const options = {
    ...{ seconds: 8, writers: 8, clients: 8, longest: 2, seed: 1711 },
    ...{ bulkRows: 300, hold: 0, bulkBeside: 0 },
  }
  const report = await stress(database.address, app, publisher, options)
  expect(wrongInClients(report), formatReport(report, options)).toBe(0)
  expect(report.figures.checks).toBeGreaterThan(2)
  expect(report.figures.wrong).toBe(0)
  expect(Object.values(wrongInControls(report)), 'a check that cannot fail proves nothing').not.toContain(0)
})
