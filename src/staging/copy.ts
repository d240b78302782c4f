/**
 * Copies the tables of a platform on another server, of one instant, and lets a subscription keep the copies in step from there
 * on. Staged tables that exist already are made equal to the copy: so the first copy, a slot that was lost, a failover and a column
 * that cannot be followed are one and the same.
 */
import { connect } from '../db/connect.ts'
import { sendCopy } from '../db/copy.ts'
import { type LockRetryOptions, retryLocks } from '../db/lock-retries.ts'
import { defaultLockWait } from '../db/migrate.ts'
import { arrayText, type DriverPool, type Pool, type Sql } from '../db/sql.ts'
import { type PlatformTable, pathOf, quoted, readPlatformTables } from './platform-tables.ts'
import { publish, replicationName } from './publication.ts'
import { readServer, type Server } from './server.ts'
import { dropSlots, dropSubscription, startSubscription, stopSubscription } from './subscription.ts'

/** The key of the advisory lock of a copy: any number, the same for all instances. */
const copyLock = 7_302_155_602

/** How long a slot waits for transactions of the platform before it is tried again, in milliseconds. */
const lockMs = 5_000

/** Returns the name of the copy of a table's rows, to which a staged table that has rows is made equal. */
const copyOf = ({ platform_oid }: PlatformTable) => `gateway.copy_of_${platform_oid}`

export interface CopyOptions {
  /** The URL of the platform's database, also for the subscription. */
  platformUrl: string
  /** The time to wait for transactions of the platform: a slot begins when those that run have ended; in seconds. */
  lockWait?: number
  signal?: AbortSignal | undefined
  onBlocked?: (holders: string) => void
  /** Tables that are staged first, those that are not staged yet. */
  tables?: readonly PlatformTable[]
  /** Called when it begins: no other process copies. */
  onBegin?: () => void
  /** Called before each table. */
  onTable?: ((table: PlatformTable) => void) | undefined
}

/**
 * Copies all staged tables, and switches the subscription to a new slot. From the snapshot until the switch, nothing is applied: the
 * service goes on with the former rows. After an error, the former subscription goes on, and the next call begins again.
 *
 * @param owner connections of the owner of the staged tables, who may create subscriptions
 * @returns false when another process copies
 * @throws an Error that names who holds up the slot, or the statements that publish tables; an error of either database
 */
export async function copyPlatform(
  owner: Pool,
  { platformUrl, lockWait = defaultLockWait, signal, onBlocked, tables = [], onBegin, onTable }: CopyOptions,
): Promise<boolean> {
  const session = owner.openSession()
  const platform = connect(platformUrl, { max: 2, statementTimeoutMs: 0 })
  const source = platform.openSession()
  const walSender = connect(platformUrl, { max: 1, statementTimeoutMs: 0, replication: true })
  try {
    await session`select /* staging.set_limits */ set_config('statement_timeout', '0', false)`
    const [lock] = await session<{ taken: boolean }[]>`
      select /* staging.lock */ pg_try_advisory_lock(${copyLock}) as taken`
    if (!lock?.taken) return false
    onBegin?.()
    const slot = `${replicationName}_${Date.now()}`
    const [former] = await session<{ slot: string | null; other_slot: string | null }[]>`
      select /* staging.read_slots */ slot, other_slot from gateway.subscription`
    await dropSlots(platform, [former?.other_slot])
    await session`
      insert into /* staging.begin_copy */ gateway.subscription (other_slot, needs_copy) values (${slot}, 'The copy goes on.')
      on conflict (is_only) do update
      set other_slot = excluded.other_slot, needs_copy = coalesce(subscription.needs_copy, excluded.needs_copy)`
    // A table is staged only when a copy is noted: after an interruption, none counts as copied.
    for (const table of tables) {
      await session`select /* staging.stage_table */ gateway.stage_table(${JSON.stringify(table)}::text::jsonb)`
    }
    const staged = await session<{ oid: number }[]>`
      select /* staging.read_tables */ platform_oid::bigint as oid from gateway.staged_table`
    const oids = staged.map(({ oid }) => oid)
    // Staged before: the former subscription would wait for a published table that is not there.
    const found = await readPlatformTables(platform, oids)
    for (const { problem, ...table } of found) if (problem) throw new Error(`${pathOf(table)} ${problem.join('. ')}`)
    await publish(platform, found, { lockWait, onBlocked })
    // Before the snapshot: a failover during the copy shows as another server.
    const server = await readServer(platform)
    try {
      // Before the snapshot, which else could be older than the rows that the former subscription has applied at the switch.
      await stopSubscription(session)
      const snapshot = await createSlot(walSender, platform, { slot, server, lockWait, onBlocked })
      const isFirst = former?.slot == null
      const copied = await copyTables(source, session, { oids, snapshot, signal, onTable, isFirst })
      signal?.throwIfAborted()
      await switchTo(session, { slot, server, copied: isFirst ? [] : copied, platformUrl })
    } catch (error) {
      await startSubscription(owner)
      throw error
    }
    await dropOtherSlot(owner, platform)
    return true
  } finally {
    await Promise.all([session, source, platform, walSender].map(each => each.end({ timeout: 1 })))
  }
}

/** Drops the slot of the former subscription, unless a copy goes on. */
export async function dropOtherSlot(owner: Sql, platform: Sql): Promise<void> {
  const [other] = await owner<{ slot: string }[]>`
    select /* staging.read_other_slot */ other_slot as slot from gateway.subscription where needs_copy is null and other_slot is not null`
  if (!other) return
  await dropSlots(platform, [other.slot])
  await owner`
    update /* staging.forget_slot */ gateway.subscription set other_slot = null where other_slot = ${other.slot}`
}

/**
 * Creates a slot: it has all changes of transactions that are not in its snapshot.
 *
 * @returns the snapshot, which other sessions can take until the connection of `walSender` ends
 */
async function createSlot(
  walSender: Pool,
  platform: Pool,
  { slot, server, ...options }: { slot: string; server: Server } & Pick<LockRetryOptions, 'lockWait' | 'onBlocked'>,
): Promise<string> {
  const send = (command: string) => walSender.unsafe<Record<string, string>[]>(command).simple()
  const [session] = await send('select /* staging.prepare_slot */ pg_backend_pid() as pid')
  // The connection keeps the snapshot, in a transaction that does nothing.
  await send(`set /* staging.limit_wait */ lock_timeout = ${lockMs}; set idle_in_transaction_session_timeout = 0`)
  // A standby that synchronises slots has this one after a failover.
  const failover = server.version >= 170_000 ? ', FAILOVER' : ''
  const attempt = retryLocks(platform, Number(session?.pid), {
    ...options,
    subject: 'A slot begins when the transactions that run at the platform have ended. It',
    remedy: 'Wait for the end of that transaction, or end it, and run the command again.',
  })
  const [created] = await attempt(() =>
    send(`CREATE_REPLICATION_SLOT ${slot} LOGICAL pgoutput (SNAPSHOT 'export'${failover})`),
  )
  if (!created?.snapshot_name) throw new Error('The server of the platform returned no snapshot.')
  return created.snapshot_name
}

/**
 * Copies the rows of all staged tables. Each is locked, against changes of its columns, only while it is read.
 *
 * @param snapshot of which all rows are
 * @param isFirst whether the tables have no rows yet: then they are filled directly
 * @returns the tables
 */
async function copyTables(
  source: Sql,
  target: DriverPool,
  {
    oids,
    snapshot,
    signal,
    onTable,
    isFirst,
  }: { oids: number[]; snapshot: string; isFirst: boolean } & Pick<CopyOptions, 'signal' | 'onTable'>,
): Promise<PlatformTable[]> {
  await beginReading(source, snapshot)
  const tables = await readPlatformTables(source, oids)
  await source.unsafe('commit /* staging.end_reading */')
  for (const table of tables) {
    signal?.throwIfAborted()
    onTable?.(table)
    await target`select /* staging.follow_table */ gateway.follow_table(${JSON.stringify(table)}::text::jsonb, true)`
    const copy = isFirst ? pathOf(table) : copyOf(table)
    if (isFirst)
      await target`select /* staging.begin_table */ gateway.empty_table(${copy}::text::regclass, ${arrayText(table.key)}::text::text[])`
    else {
      await target.unsafe(`drop /* staging.drop_former_copy */ table if exists ${copy}`)
      await target.unsafe(
        `create /* staging.create_copy */ unlogged table ${copy} as table ${pathOf(table)} with no data`,
      )
    }
    const columns = table.columns.map(({ name }) => quoted(name)).join(', ')
    await beginReading(source, snapshot)
    const rows = await source
      .unsafe(`copy /* staging.read_rows */ (select ${columns} from ${pathOf(table)}) to stdout`)
      .readable()
    await sendCopy(target.unsafe(`copy /* staging.write_rows */ ${copy} (${columns}) from stdin`), rows)
    await requireOriginal(source, table)
    await source.unsafe('commit /* staging.end_reading */')
    await target.unsafe(`analyze /* staging.analyze */ ${copy}`)
  }
  return tables
}

/** Begins a transaction that reads rows of a snapshot. */
async function beginReading(source: Sql, snapshot: string): Promise<void> {
  await source.unsafe('begin /* staging.begin_reading */ isolation level repeatable read read only')
  await source.unsafe(`set /* staging.take_snapshot */ transaction snapshot '${snapshot}'`)
  await source`select /* staging.prepare_source */ set_config('row_security', 'off', true),
    set_config('intervalstyle', 'postgres', true), set_config('extra_float_digits', '3', true),
    set_config('idle_in_transaction_session_timeout', '0', true)`
}

/**
 * Requires that a table, which this transaction has read, has the files of the snapshot: a table that was rewritten after it, or
 * truncated, has no rows for the snapshot.
 */
async function requireOriginal(source: Sql, { platform_oid, schema, name }: PlatformTable): Promise<void> {
  const [other] = await source`
    select /* platform.find_rewritten */ from pg_class
    where oid in (select ${platform_oid}::bigint::oid union select relid from pg_partition_tree(${platform_oid}::bigint::oid))
      and relkind = 'r' and relfilenode is distinct from pg_relation_filenode(oid)`
  if (other)
    throw new Error(`The platform rewrote or truncated ${schema}.${name} during the copy, which has to begin again.`)
}

interface Switch {
  slot: string
  server: Server
  /** The tables that have to be made equal to their copies. */
  copied: readonly PlatformTable[]
  platformUrl: string
}

/** Makes staged tables equal to their copies, and subscribes to the slot, in one transaction. */
async function switchTo(target: DriverPool, { slot, server, copied, platformUrl }: Switch): Promise<void> {
  // A session, and no `begin` of the driver: when its connection ends, the statements that follow fail.
  await target.unsafe('begin /* staging.begin_switch */')
  for (const table of copied) {
    await target`call /* staging.take_copy */ gateway.take_copy(${pathOf(table)}::text::regclass, ${copyOf(table)}::text::regclass, ${arrayText(table.key)}::text::text[])`
    await target.unsafe(`drop /* staging.drop_copy */ table ${copyOf(table)}`)
  }
  await dropSubscription(target)
  const [own] = await target<{ version: number }[]>`
    select /* staging.read_own_version */ current_setting('server_version_num')::int as version`
  const failover = Math.min(own?.version ?? 0, server.version) >= 170_000 ? ', failover = true' : ''
  await target.unsafe(
    `create /* staging.subscribe */ subscription ${replicationName} connection '${platformUrl.replaceAll("'", "''")}'
     publication ${replicationName} with (create_slot = false, slot_name = ${slot}, copy_data = false${failover})`,
  )
  await target`
    update /* staging.end_copy */ gateway.subscription
    set slot = ${slot}, other_slot = slot, server = ${server.name}, copied_at = clock_timestamp(), needs_copy = null, reasons = '[]'`
  await target.unsafe('commit /* staging.end_switch */')
}
