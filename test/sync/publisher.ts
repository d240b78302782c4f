/** A PostgreSQL server that publishes the tables of the platform, and the subscription of another server to it. */
import { readFileSync } from 'node:fs'
import type postgres from '#postgres'
import { startServer } from '../support/embedded-postgres.ts'
import { until } from '../support/until.ts'
import { type Address, open } from './seed.ts'

const tables = ['tenant', 'category', 'product', 'product_category', 'variant', 'purchased_voucher', 'customer']
const schema = new URL('../../sql/plain-tables.sql', import.meta.url)

/** Starts a publisher, which streams transactions of 64 kB or more before they commit. */
export async function startPublisher() {
  const { stop, ...address } = await startServer({
    wal_level: 'logical',
    max_prepared_transactions: '50',
    logical_decoding_work_mem: '64kB',
    max_wal_senders: '20',
    max_replication_slots: '20',
    // Only flushed WAL is sent. Without this setting, WAL is flushed with a delay.
    synchronous_commit: 'on',
  })
  const { host, port, user, database } = address
  const sql = open(address)
  await sql.unsafe(readFileSync(schema, 'utf8'))
  let subscriber: postgres.Sql | null = null

  /** Returns true when the subscription has all tables and `two_phase`, and has applied the WAL up to a position. */
  async function isApplied(position: string): Promise<boolean> {
    const ready = await subscriber?.unsafe(`
      select from pg_subscription where subname = 'stress' and subtwophasestate <> 'p'
        and not exists (select from pg_subscription_rel where srsubid = pg_subscription.oid and srsubstate <> 'r')`)
    const applied = await sql`
      select from pg_stat_replication
      where application_name = 'stress' and state = 'streaming' and replay_lsn >= ${position}::text::pg_lsn`
    return ready?.length === 1 && applied.length === 1
  }

  /**
   * Waits until the subscription has applied all transactions that were committed or prepared before the call.
   *
   * @throws Error after 30 seconds
   */
  async function caughtUp(): Promise<void> {
    const [row] = await sql<{ position: string }[]>`select pg_current_wal_flush_lsn()::text as position`
    await until('the subscription has caught up', () => isApplied(row?.position ?? ''), 30_000)
  }

  return {
    /** The database of the publisher, with the tables of the platform and without triggers. */
    address,

    /**
     * Creates a publication and a subscription to it, without the existing rows. Resolves when the subscription applies
     * changes.
     *
     * @param at a migrated database of another server; its user, who must be a superuser, owns the subscription
     * @param streaming how large transactions are sent before they commit
     */
    async subscribe(at: Address, streaming: 'on' | 'parallel'): Promise<void> {
      await sql.unsafe(`create publication stress for table ${tables.join(', ')}`)
      subscriber = open(at)
      await subscriber.unsafe(
        `create subscription stress connection 'host=${host} port=${port} user=${user} dbname=${database}'
           publication stress with (copy_data = false, streaming = ${streaming}, two_phase = true)`,
      )
      await caughtUp()
    },

    caughtUp,

    /** Drops the subscription, ends the server and removes its data. */
    async stop() {
      await subscriber?.unsafe('drop subscription stress')
      await subscriber?.end()
      await sql.end()
      await stop()
    },
  }
}
