/** Creates the slot of a copy, and copies the rows that existed when the slot began. */

import { liftLimits } from '../db/connection/lift-limits.ts'
import { type LockRetryOptions, retryLocks } from '../db/connection/lock-retries.ts'
import { sendCopy } from '../db/row/copy.ts'
import { arrayText, type DriverPool, type Pool, type Sql } from '../db/sql.ts'
import { type PlatformTable, pathOf, quoteIdentifier, readPlatformTables } from './platform-tables.ts'
import type { Server } from './server.ts'

/** The maximum wait of one attempt to create a slot for transactions of the platform, in milliseconds. */
const lockMs = 5_000

/** Returns the name of the table for a copy, for a staged table that already has rows. */
export const copyTableOf = ({ platform_oid }: PlatformTable) => `gateway.copy_of_${platform_oid}`

/**
 * Creates a slot.
 *
 * @returns `snapshot`, which other sessions can use until `walSender` closes its connection; and `position`, the WAL
 * position: the snapshot has all changes before it
 */
export async function createSlot(
  walSender: Pool,
  platform: Pool,
  { slot, server, ...options }: { slot: string; server: Server } & Pick<LockRetryOptions, 'lockWait' | 'onBlocked'>,
): Promise<{ snapshot: string; position: string }> {
  const send = (command: string) => walSender.unsafe<Record<string, string>[]>(command).simple()
  const [session] = await send('select /* staging.prepare_slot */ pg_backend_pid() as pid')
  // No time limit, because the connection has to stay in an idle transaction to keep the snapshot.
  await liftLimits(walSender, false)
  await send(`set /* staging.limit_wait */ lock_timeout = ${lockMs}`)
  // With this option, a standby that synchronises slots also has this slot after a failover.
  const failover = server.version >= 170_000 ? ', FAILOVER' : ''
  const attempt = retryLocks(platform, Number(session?.pid), {
    ...options,
    subject: 'A slot begins when the transactions that run at the platform have ended. It',
    remedy: 'Wait for the end of that transaction, or end it, and run the command again.',
  })
  const [created] = await attempt(() =>
    send(`CREATE_REPLICATION_SLOT ${slot} LOGICAL pgoutput (SNAPSHOT 'export'${failover})`),
  )
  const { snapshot_name: snapshot, consistent_point: position } = created ?? {}
  if (!snapshot || !position) throw new Error('The server of the platform returned no snapshot.')
  return { snapshot, position }
}

export interface CopyProgress {
  signal?: AbortSignal | undefined
  /** Called before each table. */
  onTable?: ((table: PlatformTable) => void) | undefined
}

/**
 * Copies the rows of staged tables. Each table is locked against changes of its columns only during the read of its
 * rows.
 *
 * @param snapshot the snapshot from which all rows are read
 * @param isFirst true when the staged tables have no rows yet; then the rows go directly into them, otherwise into
 * tables `copyTableOf`
 * @returns the tables
 */
export async function copyTables(
  source: Sql,
  target: DriverPool,
  { oids, snapshot, signal, onTable, isFirst }: { oids: number[]; snapshot: string; isFirst: boolean } & CopyProgress,
): Promise<PlatformTable[]> {
  await beginReading(source, snapshot)
  const tables = await readPlatformTables(source, oids)
  await source.unsafe('commit /* staging.end_reading */')
  for (const table of tables) {
    signal?.throwIfAborted()
    onTable?.(table)
    await target`select /* staging.follow_table */ gateway.follow_table(${JSON.stringify(table)}::text::jsonb, true)`
    const copy = isFirst ? pathOf(table) : copyTableOf(table)
    if (isFirst)
      await target`select /* staging.begin_table */ gateway.empty_table(${copy}::text::regclass, ${arrayText(table.key)}::text::text[])`
    else {
      await target.unsafe(`drop /* staging.drop_former_copy */ table if exists ${copy}`)
      await target.unsafe(
        `create /* staging.create_copy */ unlogged table ${copy} as table ${pathOf(table)} with no data`,
      )
    }
    const columns = table.columns.map(({ name }) => quoteIdentifier(name)).join(', ')
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

/** Begins a transaction that reads the rows of a snapshot. */
async function beginReading(source: Sql, snapshot: string): Promise<void> {
  await source.unsafe('begin /* staging.begin_reading */ isolation level repeatable read read only')
  await source.unsafe(`set /* staging.take_snapshot */ transaction snapshot '${snapshot}'`)
  await source`select /* staging.prepare_source */ set_config('row_security', 'off', true),
    set_config('intervalstyle', 'postgres', true), set_config('extra_float_digits', '3', true)`
  await liftLimits(source, true)
}

/**
 * Throws when a table was rewritten or truncated after the snapshot, because such a table has no rows in the snapshot.
 * The transaction must have read the table, and so locks it.
 */
async function requireOriginal(source: Sql, { platform_oid, schema, name }: PlatformTable): Promise<void> {
  const [other] = await source`
    select /* platform.find_rewritten */ from pg_class
    where oid in (select ${platform_oid}::bigint::oid union select relid from pg_partition_tree(${platform_oid}::bigint::oid))
      and relkind = 'r' and relfilenode is distinct from pg_relation_filenode(oid)`
  if (other)
    throw new Error(`The platform rewrote or truncated ${schema}.${name} during the copy, which has to begin again.`)
}
