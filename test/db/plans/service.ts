import { letDriverCompile } from '../../../src/db/connection/compilable.ts'
import { readRights } from '../../../src/db/connection/rights.ts'
import { routeStatement, serverCheck, sessionStatement } from '../../../src/db/connection/session.ts'
import type { Pool } from '../../../src/db/sql.ts'
import { readLastStep, Standby } from '../../../src/db/standby/standby.ts'
import { findMissingGrants } from '../../../src/doctor/grants.ts'
import { findUnwritable, readinessChecks } from '../../../src/doctor/quick.ts'
import { deleteExpiredSessions } from '../../../src/domain/administrator/session.ts'
import { countEndpoints } from '../../../src/domain/event/endpoint.ts'
import { createAttemptCounter, createTableCounter, deleteEndedWindows } from '../../../src/domain/rate/table.ts'
import { deleteExpiredRedemptionTokens } from '../../../src/domain/record/redemption-token.ts'
import { createFirstKey, deleteFormerKeys, readKeySet, rotateKeys } from '../../../src/domain/record/signing-key.ts'
import { getOrCreateSecret } from '../../../src/domain/secret/setting.ts'
import { reportServerChange } from '../../../src/domain/sync/full-pass.ts'
import { createTokenDirectory } from '../../../src/domain/token/directory.ts'
import { createRequestCounter, deleteExpiredRequestCounts } from '../../../src/domain/token/request-count.ts'
import { findUncaptured, repairCapture } from '../../../src/projection/capture.ts'
import { checkSomeRecords } from '../../../src/projection/check.ts'
import { createSteps, deletePassedNotes } from '../../../src/projection/step.ts'
import { readStepState } from '../../../src/projection/step-state.ts'
import { tester } from '../../support/builders.ts'
import { projected } from '../../support/projected.ts'
import { createJourney, type Journey } from './journey.ts'

/**
 * Functions that need only a pool, with the names of their statements. `excused` is the reason why a statement may read
 * a whole table.
 */
const poolFunctions: [runs: string, run: (pool: Pool) => unknown, excused?: string][] = [
  ['setting.create setting.get', pool => getOrCreateSecret(pool, 'any', Buffer.alloc(1))],
  ['signing_key.create', createFirstKey],
  ['signing_key.read', readKeySet],
  ['signing_key.rotate', pool => rotateKeys(pool, tester, false)],
  ['signing_key.delete_former', deleteFormerKeys],
  ['session.read_route', pool => pool.unsafe(routeStatement)],
  ['step.read_last', readLastStep],
  ['step.read_shown', pool => new Standby(1, { pool, probe: pool }, () => {}).check(null)],
  ['session.read', pool => pool.unsafe(sessionStatement)],
  ['session.detect_server_change', pool => pool.unsafe(serverCheck)],
  ['driver.compile', letDriverCompile],
  ['health.read_state', findUnwritable],
  ['rights.read', readRights],
  ['full_pass.report_server_change', reportServerChange],
  ['capture.find_missing', findUncaptured],
  ['grants.find_missing', findMissingGrants],
  ['step.read_completeness', readinessChecks.fill],
  ['step.read_state', readStepState],
  ['webhook.count', countEndpoints],
  ['step.delete_passed_notes', deletePassedNotes],
  ['rate_window.count', pool => createTableCounter(pool)(new Map(Array.from({ length: 30 }, (_, n) => [`${n}`, 1])))],
  ['rate_window.delete_ended', deleteEndedWindows, 'Once a minute: it deletes most of the rows, the expired windows.'],
  ['redemption_token.delete_expired', deleteExpiredRedemptionTokens],
  [
    'session.delete_expired',
    deleteExpiredSessions,
    'Each hour. A session depends on its account too, and there are few sessions: people create them, and they end after 12 hours.',
  ],
  ['request_count.delete_expired', deleteExpiredRequestCounts],
]

/** The journeys of the service itself, at its start and between requests. */
export const service: Journey[] = [
  ...poolFunctions.map(([runs, run, excused]) =>
    createJourney(runs, runs, async ({ pool }) => run(pool), excused ? { excused } : {}),
  ),
  // The check compares 50 records and reads about five blocks per record. It also plans a read of each source, to find
  // mappings that do not fit.
  createJourney('a part of the check', 'record.check_some', async ({ pool }) => checkSomeRecords(pool), {
    mostRows: 4_000,
  }),
  // The repair reads only the catalog.
  createJourney('a repair of capture', 'capture.repair', async ({ pool }) => repairCapture(pool, () => {}), {
    mostRows: 4_000,
  }),
  // The first call on a connection plans the statements inside the functions, which reads the catalog.
  createJourney(
    'a look for changes',
    'step.make_quiet',
    async ({ pool, build }) => {
      // The background job also makes steps, so in some rounds this journey finds no change.
      for (let round = 0; round < 10; round++) {
        await build.voucher(1)
        await createSteps(pool, new AbortController().signal)()
      }
    },
    { mostRows: 4_000 },
  ),
  createJourney('a step', 'step.make', async ({ pool, build }) => {
    // The background job also makes steps, so in some rounds it has already written the rows.
    for (let round = 0; round < 20; round++) {
      await build.variant(await build.product(1))
      await build.voucher(1)
      await build.customer(1)
      await projected(pool)
    }
  }),
  createJourney('when tokens were last used', 'token.save_use', async ({ pool, build }) => {
    const directory = createTokenDirectory(pool)
    const found = await directory.find((await build.token([1])).secret)
    if (found.status === 'unknown') throw new Error('the token is not found')
    for (let id = 1; id <= 30; id++) directory.recordUse({ ...found.token, id }, '192.0.2.1')
    await directory.saveUse()
  }),
  createJourney('attempts to sign in', 'rate_window.refund rate_window.clear', async ({ pool }) => {
    const attempts = createAttemptCounter(pool, 'login', 5, 900)
    await attempts.hit('one')
    await attempts.refund('one')
    await attempts.clear('one')
  }),
  createJourney('request counts', 'request_count.save request_error.save', async ({ pool }) => {
    const usage = createRequestCounter(pool)
    for (let id = 1; id <= 30; id++) usage.count(id, 'o', 403, [{ code: 'c', reason: 'r' }])
    await usage.save()
  }),
]
