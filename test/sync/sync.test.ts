import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Client, createApp } from '../support/app.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { type Publisher, startPublisher } from './publisher.ts'
import { formatReport, wrongInClients, wrongInControls } from './report.ts'
import { stress } from './run.ts'

/** True when each control has missed something: a check that cannot fail proves nothing. */
let isProven = false

// On a slow machine a control may meet nothing in 8 s that it misses.
describe.each([8, 24])('while all kinds of writers write for %i s', seconds => {
  let app: Client['app']
  let database: TestDatabase
  let publisher: Publisher

  beforeAll(async () => {
    if (isProven) return
    database = await createDatabase()
    app = (await createApp(database, { RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000000' })).app
    publisher = await startPublisher()
  })
  afterAll(() => publisher?.stop())

  test('clients end with exactly what the service holds', { timeout: 300_000 }, async () => {
    if (isProven) return
    const options = {
      ...{ seconds, writers: 8, clients: 8, longest: 2, seed: 1711 },
      ...{ bulkRows: 300, hold: 0, bulkBeside: 0 },
    }
    const report = await stress(database.address, app, publisher, options)
    expect(wrongInClients(report), formatReport(report, options)).toBe(0)
    expect(report.figures.checks).toBeGreaterThan(2)
    expect(report.figures.wrong).toBe(0)
    isProven = !Object.values(wrongInControls(report)).includes(0)
  })
})

test('the controls do not', () => expect(isProven).toBe(true))
