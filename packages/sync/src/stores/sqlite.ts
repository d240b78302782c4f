/** Stores a copy in a SQLite file, with one table per list, and one table for the checkpoint. */
import { existsSync } from 'node:fs'
import { z } from 'zod'
import { type Positions, parsePosition } from '../checkpoint.ts'
import { inUseError } from '../errors.ts'
import { type ListName, listNames, tableOf } from '../lists.ts'
import type { Change, CopiedRecord, RecordCount, Store } from '../store.ts'
import { openSqlite, type SqliteDatabase, type SqliteStatement } from './node-sqlite.ts'

const tablesSql = `
  pragma journal_mode = wal;
  pragma synchronous = normal;
  pragma busy_timeout = 10000;
  ${listNames
    .map(
      list => `create table if not exists ${tableOf(list)} (
        tenant_id integer not null,
        id integer not null,
        updated_at text,
        record text not null,
        pass integer not null,
        primary key (tenant_id, id)
      ) without rowid;`,
    )
    .join('\n')}
  create table if not exists sync_position (key text primary key, value text not null) without rowid;`

const positionRows = z.array(z.object({ key: z.string(), value: z.string() }))
const recordRows = z.array(z.object({ id: z.int(), record: z.string() }))
const countRows = z.array(z.object({ tenantId: z.int(), count: z.int() }))

/** The number of records that one statement reads. */
const rowsPerStatement = 1_000

/** The maximum time that a sync waits until another sync releases the lock, in milliseconds. */
const lockTimeoutMs = 1_000

/**
 * Takes the lock of a copy: an exclusive lock of SQLite on a separate file in the same folder, so that the copy itself
 * stays readable. The operating system releases the lock when the process ends.
 *
 * @throws SyncError when another process holds the lock
 */
async function takeLock(path: string): Promise<SqliteDatabase> {
  const lock = await openSqlite(`${path}.lock`)
  try {
    lock.exec(`pragma busy_timeout = ${lockTimeoutMs}; begin exclusive`)
    return lock
  } catch (error) {
    lock.close()
    throw error instanceof Error && error.message.includes('locked') ? inUseError('Another process') : error
  }
}

/** Stores a copy in a SQLite file. */
export class SqliteStore implements Store {
  readonly positions: Positions
  private readonly statements = new Map<string, SqliteStatement>()

  private constructor(
    private readonly database: SqliteDatabase,
    private readonly lock: SqliteDatabase | null,
  ) {
    const rows = positionRows.parse(this.prepare('select key, value from sync_position').all())
    this.positions = new Map(rows.map(({ key, value }) => [key, parsePosition(key, value)]))
  }

  /**
   * Opens the file, or creates it.
   *
   * @throws SyncError on a Node without `node:sqlite`, or when another process syncs to the file
   */
  static async open(path: string): Promise<SqliteStore> {
    const lock = await takeLock(path)
    try {
      const database = await openSqlite(path)
      database.exec(tablesSql)
      return new SqliteStore(database, lock)
    } catch (error) {
      lock.close()
      throw error
    }
  }

  /** Opens the file only for reading. @returns null when the file contains no copy */
  static async read(path: string): Promise<SqliteStore | null> {
    if (!existsSync(path)) return null
    const database = await openSqlite(path, { readOnly: true })
    const found = database.prepare("select 1 from sqlite_master where name = 'sync_position'").all()
    if (found.length > 0) return new SqliteStore(database, null)
    database.close()
    return null
  }

  async counts(): Promise<RecordCount[]> {
    return listNames.flatMap(list => {
      const sql = `select tenant_id as tenantId, count(*) as count from ${tableOf(list)} group by tenant_id`
      return countRows.parse(this.prepare(sql).all()).map(row => ({ list, ...row }))
    })
  }

  async *records(list: ListName, tenantId: number): AsyncGenerator<CopiedRecord> {
    // The id of a tenant's record is the id of the tenant.
    const isTenants = list === 'tenants'
    const range = isTenants ? 'tenant_id > ?' : 'tenant_id = ? and id > ?'
    const sql = `select id, record from ${tableOf(list)} where ${range} order by tenant_id, id limit ${rowsPerStatement}`
    for (let after = 0; ; ) {
      const rows = recordRows.parse(this.prepare(sql).all(...(isTenants ? [] : [tenantId]), after))
      for (const { id, record } of rows) yield { id, text: record }
      const last = rows.at(-1)
      if (!last) return
      after = last.id
    }
  }

  async commit(changes: readonly Change[], positions: Positions): Promise<void> {
    this.transact(() => {
      for (const change of changes) this.apply(change)
      for (const [key, value] of positions) {
        if (value === null) this.prepare('delete from sync_position where key = ?').run(key)
        else {
          this.prepare(
            'insert into sync_position values (?, ?) on conflict (key) do update set value = excluded.value',
          ).run(key, JSON.stringify(value))
        }
      }
    })
  }

  async publish(): Promise<void> {
    // Nothing to do: each commit is already visible to readers.
  }

  async close(): Promise<void> {
    this.database.close()
    this.lock?.close()
  }

  private apply(change: Change): void {
    if (change.kind === 'drop') {
      for (const list of listNames)
        this.prepare(`delete from ${tableOf(list)} where tenant_id = ?`).run(change.tenantId)
      return
    }
    const table = tableOf(change.list)
    if (change.kind === 'put') {
      const put = this.prepare(
        `insert into ${table} (tenant_id, id, updated_at, record, pass) values (?, ?, ?, ?, ?)
         on conflict (tenant_id, id) do update
         set updated_at = excluded.updated_at, record = excluded.record, pass = excluded.pass`,
      )
      for (const { id, updatedAt, record } of change.records) {
        put.run(change.tenantId, id, updatedAt, JSON.stringify(record), change.pass)
      }
    } else if (change.kind === 'remove') {
      const remove = this.prepare(`delete from ${table} where tenant_id = ? and id = ?`)
      for (const id of change.ids) remove.run(change.tenantId, id)
    } else {
      this.prepare(`delete from ${table} where tenant_id = ? and pass < ?`).run(change.tenantId, change.pass)
    }
  }

  private prepare(sql: string) {
    const known = this.statements.get(sql)
    if (known) return known
    const prepared = this.database.prepare(sql)
    this.statements.set(sql, prepared)
    return prepared
  }

  private transact(work: () => void): void {
    this.database.exec('begin immediate')
    try {
      work()
      this.database.exec('commit')
    } catch (error) {
      try {
        this.database.exec('rollback')
      } catch {
        // Ignores this error: SQLite has already rolled back, for example on a full disk, and the first error has the
        // reason.
      }
      throw error
    }
  }
}
