import DataLoader from 'dataloader'
import type { RecordPool, RecordSql, Sql } from '../db/sql.ts'
import type { RecordPage } from '../domain/paging/page.ts'
import type { CountRequest, PageRequest, RecordRequest, TenantTable } from '../domain/record/tenant-table.ts'
import type { Caller } from '../domain/token/caller.ts'

/** The connections that the loaders of a request use, and the caller of the request. */
export interface Reader {
  /** Reads and writes everything except records, at the primary. */
  sql: Sql
  records: RecordSql
  pool: RecordPool
  caller: Caller
  /** The same object for all requests that may share statements (`shareStatements`). */
  group: object
}

/** Creates a loader of pages. It caches nothing, because each field has to read the records (R28). */
export const createPageLoader = <Wanted, Row>(read: (wanted: readonly Wanted[]) => Promise<RecordPage<Row>[]>) =>
  new DataLoader<Wanted, RecordPage<Row>>(read, { cache: false })

/**
 * Creates loaders of a table that tenants own. They cache nothing, because each field counts as an operation and has to
 * read the records (R28).
 */
export const createTableLoaders = <Row>({ pool, records, caller }: Reader, table: TenantTable<Row>) => ({
  pages: createPageLoader((wanted: readonly PageRequest[]) => table.pages(records, wanted)),
  /**
   * Counts use the connections of expensive requests, because a count may read a million rows even in a request that is
   * not expensive.
   */
  counts: new DataLoader(
    (wanted: readonly CountRequest[]) => table.counts(pool.expensive(caller.isWaiting, caller.token.id), wanted),
    { cache: false },
  ),
  records: new DataLoader((wanted: readonly RecordRequest[]) => table.records(records, wanted), { cache: false }),
})

/**
 * The loaders of one request. A loader reads in one statement for all fields of the request that call it in the same
 * turn. The file of a type defines its loaders. A loader is created when a field first asks for it.
 */
export class Loaders {
  readonly #created = new Map<(reader: Reader) => unknown, unknown>()

  constructor(private readonly reader: Reader) {}

  get group(): object {
    return this.reader.group
  }

  /**
   * Returns the loader of this request that `create` makes, and creates it at the first call. All calls for one loader
   * must pass the same function.
   */
  get<Loader>(create: (reader: Reader) => Loader): Loader {
    // The map has the result of `create` under the key `create`, so the type is right.
    const created = this.#created.get(create) as Loader | undefined
    if (created !== undefined) return created
    const loader = create(this.reader)
    this.#created.set(create, loader)
    return loader
  }
}
