import { letDriverCompile } from '../../../src/db/compilable.ts'
import { readRights } from '../../../src/db/rights.ts'
import { sessionStatement } from '../../../src/db/session.ts'
import { isDemo, isEmpty } from '../../../src/demo/load.ts'
import { deleteExpiredSessions } from '../../../src/domain/administrator/session.ts'
import { countInTable, createAttemptCounter, deleteEndedWindows } from '../../../src/domain/rate/table.ts'
import { deleteExpiredRedemptionTokens } from '../../../src/domain/record/redemption-token.ts'
import { getOrCreateSecret } from '../../../src/domain/setting.ts'
import { createClockWatch, deletePassedStamps, recordClock } from '../../../src/domain/sync/clock.ts'
import { createFollower, readLag } from '../../../src/domain/sync/follower.ts'
import { detectServerChange, requireFullPass } from '../../../src/domain/sync/full-pass.ts'
import { createStampQueue } from '../../../src/domain/sync/stamp-queue.ts'
import { createWatermarkWatch } from '../../../src/domain/sync/watermark-holder.ts'
import { createTokenDirectory } from '../../../src/domain/token/directory.ts'
import { createRequestCounter, deleteExpiredRequestCounts } from '../../../src/domain/token/request-count.ts'
import { findUnwritable } from '../../../src/http/health.ts'
import { followed } from '../../support/followed.ts'
import type { Journey } from './journey.ts'

/** The journeys of the service itself: as it starts, and beside answering. */
export const service: Journey[] = [
  {
    what: 'a secret of the service',
    runs: ['setting.create', 'setting.get'],
    go: ({ pool }) => getOrCreateSecret(pool, 'any', Buffer.alloc(1)),
  },
  { what: 'what a session is', runs: ['session.read'], go: ({ pool }) => pool.unsafe(sessionStatement) },
  { what: "the driver's classes", runs: ['driver.compile'], go: ({ pool }) => letDriverCompile(pool) },
  { what: 'whether the database can be written', runs: ['health.read_state'], go: ({ pool }) => findUnwritable(pool) },
  { what: 'what the login may do', runs: ['rights.read'], go: ({ pool }) => readRights(pool) },
  {
    what: 'whether there are tenants',
    runs: ['demo.is_empty'],
    go: ({ pool }) => isEmpty(pool),
    excused: 'Reads one row.',
  },
  { what: 'whether the demo data are there', runs: ['demo.is_demo'], go: ({ pool }) => isDemo(pool) },
  { what: 'the clock', runs: ['clock.read'], go: ({ pool }) => createClockWatch(pool, () => {}).check() },
  {
    what: 'the newest stamps and the clock',
    runs: ['clock.compare_stamps'],
    go: ({ pool }) => createClockWatch(pool, () => {}).compareStamps(),
    excused: 'Once, at start: one probe of an index per tenant and list.',
  },
  { what: 'where the clock is', runs: ['clock.record'], go: ({ pool }) => recordClock(pool) },
  {
    what: 'whether the server was replaced',
    runs: ['full_pass.detect_server_change'],
    go: ({ pool }) => detectServerChange(pool),
  },
  { what: 'requiring a full pass', runs: ['full_pass.require'], go: ({ pool }) => requireFullPass(pool, 1) },
  {
    what: 'deleting planned stamps that have passed',
    runs: ['planned_stamp.delete_passed'],
    go: ({ pool }) => deletePassedStamps(pool),
  },
  {
    what: 'what holds the watermark',
    runs: ['watermark.find_holder'],
    go: ({ pool }) => createWatermarkWatch(pool, { onHeld() {}, onReleased() {} })(),
  },
  {
    what: 'stamping queued records',
    runs: ['stamp_queue.process'],
    go: ({ pool }) => createStampQueue(pool, new AbortController().signal).process(),
  },
  {
    what: 'letting figures follow the records',
    runs: ['follower.step', 'follower.read_lag'],
    go: async ({ pool, apart, build }) => {
      // Other journeys may have changed tenants: then a step reads the whole tree.
      await followed(apart)
      await build.voucher(1)
      await createFollower(pool, new AbortController().signal)()
      await readLag(pool)
    },
  },
  {
    what: 'when tokens were last used',
    runs: ['token.save_use'],
    go: async ({ pool, build }) => {
      const directory = createTokenDirectory(pool)
      const found = await directory.find((await build.token([1])).secret)
      if (found.status === 'unknown') throw new Error('the token is not found')
      for (let id = 1; id <= 30; id++) directory.recordUse({ ...found.token, id }, '192.0.2.1')
      await directory.saveUse()
    },
  },
  {
    what: 'counting calls together with other instances',
    runs: ['rate_window.count'],
    go: ({ pool }) => countInTable(pool)(new Map(Array.from({ length: 30 }, (_, n) => [`${n}`, 1]))),
  },
  {
    what: 'attempts to sign in',
    runs: ['rate_window.refund', 'rate_window.clear'],
    go: async ({ pool }) => {
      const attempts = createAttemptCounter(pool, 'login', 5, 900)
      await attempts.hit('one')
      await attempts.refund('one')
      await attempts.clear('one')
    },
  },
  {
    what: 'deleting rate windows that have ended',
    runs: ['rate_window.delete_ended'],
    go: ({ pool }) => deleteEndedWindows(pool),
    excused: 'Once a minute: it deletes most of the rows, the expired windows.',
  },
  {
    what: 'request counts',
    runs: ['request_count.save', 'request_error.save'],
    go: async ({ pool }) => {
      const usage = createRequestCounter(pool)
      for (let id = 1; id <= 30; id++) usage.count(id, 'o', 403, [{ code: 'c', reason: 'r' }])
      await usage.save()
    },
  },
  {
    what: 'forgetting redemption tokens',
    runs: ['redemption_token.delete_expired'],
    go: ({ pool }) => deleteExpiredRedemptionTokens(pool),
  },
  {
    what: 'forgetting sessions',
    runs: ['session.delete_expired'],
    go: ({ pool }) => deleteExpiredSessions(pool),
    excused:
      'Each hour. A session also depends on its account, and there are few sessions: people create them, and they end after 12 hours.',
  },
  {
    what: 'forgetting use',
    runs: ['request_count.delete_expired'],
    go: ({ pool }) => deleteExpiredRequestCounts(pool),
  },
]
