/** A copy in a file of SQLite: a table for each list, and the checkpoint beside them. */
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { Positions } from '../checkpoint.ts'
import { listNames, tableOf } from '../lists.ts'
import type { Change, Store } from '../store.ts'
import { openSqlite, type SqliteDatabase, type SqliteStatement } from './node-sqlite.ts'
import { takenOver } from './taken-over.ts'

const schema = `
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
  create table if not exists sync_position (key text primary key, value text not null) without rowid;
  create table if not exists sync_run (one integer primary key check (one = 1), run text not null);`

const positionRows = z.array(z.object({ key: z.string(), value: z.string() }))
const runRows = z.array(z.object({ run: z.string() }))

/** A copy in a file of SQLite. */
export class SqliteStore implements Store {
  readonly positions: Positions
  private readonly run = randomUUID()
  private readonly statements = new Map<string, SqliteStatement>()

  private constructor(private readonly database: SqliteDatabase) {
    database.exec(schema)
    this.transact(() => {
      this.prepare('insert into sync_run values (1, ?) on conflict (one) do update set run = excluded.run').run(
        this.run,
      )
    })
    const rows = positionRows.parse(this.prepare('select key, value from sync_position').all())
    this.positions = new Map(rows.map(({ key, value }) => [key, JSON.parse(value)]))
  }

  /**
   * Opens the file, which is created when it does not exist.
   *
   * @throws SyncError on a Node without `node:sqlite`
   */
  static async open(path: string): Promise<SqliteStore> {
    return new SqliteStore(await openSqlite(path))
  }

  async commit(changes: readonly Change[], positions: Positions): Promise<void> {
    this.transact(() => {
      if (runRows.parse(this.prepare('select run from sync_run').all())[0]?.run !== this.run) throw takenOver()
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
    // Each commit is visible to readers already.
  }

  async close(): Promise<void> {
    this.database.close()
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
        // SQLite has rolled back by itself, on a full disk for example. The first error says why.
      }
      throw error
    }
  }
}
