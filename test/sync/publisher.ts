/** A PostgreSQL server that publishes the platform's tables, and subscriptions of other servers to it. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type postgres from '#postgres'
import { startServer } from '../support/embedded-postgres.ts'
import { until } from '../support/until.ts'
import { type Address, open } from './seed.ts'

/** The platform's tables, in an order in which foreign keys allow inserts. */
export const platformTables = [
  'tenant',
  'category',
  'product',
  'product_category',
  'variant',
  'purchased_voucher',
  'customer',
] as const
export type PlatformTable = (typeof platformTables)[number]

export interface SubscriptionOptions {
  /** Default: all of the platform's tables. */
  tables?: readonly PlatformTable[]
  /** True when existing rows are copied; default true. */
  copyData?: boolean
  /** The sending of large transactions before they commit. Default off. */
  streaming?: 'off' | 'on' | 'parallel'
  /** True when `prepare transaction` is replicated; default false: the transaction is sent at `commit prepared`. */
  twoPhase?: boolean
}

export type Publisher = Awaited<ReturnType<typeof startPublisher>>

const schema = new URL('../../sql/plain-tables.sql', import.meta.url)

/** Starts a publisher. It streams transactions from 64 kB on to subscriptions that allow streaming. */
export async function startPublisher() {
  const { stop, ...address } = await startServer({
    wal_level: 'logical',
    max_prepared_transactions: '50',
    logical_decoding_work_mem: '64kB',
    max_wal_senders: '20',
    max_replication_slots: '20',
    // Only flushed changes are sent; without this setting they are flushed with delay.
    synchronous_commit: 'on',
  })
  const { host, port, user, database } = address
  const sql = open(address)
  await sql.unsafe(readFileSync(schema, 'utf8'))
  const subscriptions = new Map<string, postgres.Sql>()

  /** Returns what both servers report of a subscription, for an error message. */
  async function describe(name: string): Promise<string> {
    const subscriber = subscriptions.get(name)
    const state = await subscriber?.unsafe(
      `select subenabled, subtwophasestate, apply_error_count, sync_error_count,
         (select json_agg(relation) from pg_subscription_rel relation where srsubid = oid and srsubstate <> 'r') as tables,
         (select json_agg(json_build_object('type', backend_type, 'event', wait_event, 'blocked_by', pg_blocking_pids(pid)))
          from pg_stat_activity where backend_type like 'logical replication%' and datname = current_database()) as workers
       from pg_subscription join pg_stat_subscription_stats on subid = oid where pg_subscription.subname = $1`,
      [name],
    )
    const sent = await sql`select state, sent_lsn, replay_lsn from pg_stat_replication where application_name = ${name}`
    return JSON.stringify({ subscription: state, sender: sent })
  }

  /** Returns whether all tables are copied and `two_phase` is as requested. */
  async function isReady(name: string): Promise<boolean> {
    const subscription = subscriptions.get(name)
    if (!subscription) throw new Error(`There is no subscription ${name}.`)
    const [row] = await subscription<{ ready: boolean }[]>`
      select subtwophasestate <> 'p'
        and not exists (select from pg_subscription_rel where srsubid = pg_subscription.oid and srsubstate <> 'r') as ready
      from pg_subscription where subname = ${name}`
    return row?.ready ?? false
  }

  /** Returns whether a subscription has applied the publisher's log up to a position. */
  async function isApplied(name: string, position: string): Promise<boolean> {
    const [row] = await sql<{ applied: boolean }[]>`
      select replay_lsn >= ${position}::text::pg_lsn as applied from pg_stat_replication
      where application_name = ${name} and state = 'streaming'`
    return (await isReady(name)) && (row?.applied ?? false)
  }

  /**
   * Waits until each subscription has applied all transactions that were committed (or prepared, under `twoPhase`)
   * before the call.
   *
   * @throws Error after 30 seconds, with the subscriber's report on its workers
   */
  async function caughtUp(): Promise<void> {
    const [row] = await sql<{ position: string }[]>`select pg_current_wal_flush_lsn()::text as position`
    const waits = [...subscriptions.keys()].map(name =>
      until('the subscription has caught up', () => isApplied(name, row?.position ?? ''), 30_000).catch(async cause => {
        throw new Error(`${name} has not caught up: ${await describe(name)}`, { cause })
      }),
    )
    await Promise.all(waits)
  }

  async function unsubscribe(name: string): Promise<void> {
    const subscription = subscriptions.get(name)
    if (!subscription) return
    subscriptions.delete(name)
    await subscription.unsafe(`drop subscription ${name}`)
    await subscription.end()
    await sql.unsafe(`drop publication ${name}`)
  }

  return {
    /** Its database, with the platform's tables and no triggers. */
    address,

    /**
     * Creates a publication and a subscription to it; resolves when the tables are copied and changes are applied.
     *
     * @param subscriber a migrated database of another server; its user, who must be a superuser, owns the subscription
     * @returns the subscription's name
     */
    async subscribe(subscriber: Address, options: SubscriptionOptions = {}): Promise<string> {
      const { tables = platformTables, copyData = true, streaming = 'off', twoPhase = false } = options
      const name = `s_${randomBytes(4).toString('hex')}`
      await sql.unsafe(`create publication ${name} for table ${tables.join(', ')}`)
      const subscriberSql = open(subscriber)
      subscriptions.set(name, subscriberSql)
      await subscriberSql.unsafe(
        `create subscription ${name}
           connection 'host=${host} port=${port} user=${user} dbname=${database}' publication ${name}
           with (copy_data = ${copyData}, streaming = ${streaming}, two_phase = ${twoPhase})`,
      )
      await caughtUp()
      return name
    },

    unsubscribe,
    caughtUp,

    /** Drops the subscriptions, ends the server and removes its data. */
    async stop() {
      for (const name of [...subscriptions.keys()]) await unsubscribe(name)
      await sql.end()
      await stop()
    },
  }
}
