import type { FaultServer } from './server.ts'

/**
 * A fault of a standby, the problem that the service reports, and a function that causes the fault, runs work and
 * repairs it.
 */
export interface StandbyFault {
  what: string
  problem: string
  run(standby: FaultServer, meanwhile: () => Promise<unknown>): Promise<void>
}

export const standbyFaults: StandbyFault[] = [
  {
    what: 'that is paused',
    problem: 'STANDBY_LATE',
    async run(standby, meanwhile) {
      await standby.use('postgres', sql => sql`select pg_wal_replay_pause()`)
      await meanwhile()
      await standby.use('postgres', sql => sql`select pg_wal_replay_resume()`)
    },
  },
  {
    what: 'that replays changes later',
    problem: 'STANDBY_LATE',
    async run(standby, meanwhile) {
      await standby.delay('2s')
      await meanwhile()
      await standby.delay('0')
    },
  },
  {
    what: 'that is frozen',
    problem: 'STANDBY_UNREACHABLE',
    async run(standby, meanwhile) {
      standby.freeze()
      await meanwhile()
      standby.thaw()
    },
  },
  ...(['SIGQUIT', 'SIGINT'] as const).map(signal => ({
    what: `that ends with ${signal}`,
    problem: 'STANDBY_UNREACHABLE',
    async run(standby: FaultServer, meanwhile: () => Promise<unknown>) {
      await standby.stop(signal)
      await meanwhile()
      await standby.start()
    },
  })),
  {
    what: 'that is promoted',
    problem: 'STANDBY_PROMOTED',
    async run(standby, meanwhile) {
      await standby.stop()
      const restore = standby.keep()
      await standby.start()
      await standby.use('postgres', sql => sql`select pg_promote()`)
      await meanwhile()
      await standby.stop()
      restore()
      await standby.start()
    },
  },
]
