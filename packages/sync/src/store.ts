/** The interface of a store, which contains the records of a copy and the checkpoint of these records. */
import type { Positions } from './checkpoint.ts'
import type { ListName } from './lists.ts'

/** A record that a store saves. */
export interface StoredRecord {
  id: number
  updatedAt: string | null
  /** The record as v1 returns it. The client has already checked the fields. */
  record: object
}

/**
 * A change of the records. The record of a tenant is in the list `tenants`, with the id of the tenant as `tenantId`.
 */
export type Change =
  /** Adds records, or replaces the records with the same ids. */
  | { kind: 'put'; list: ListName; tenantId: number; pass: number; records: readonly StoredRecord[] }
  /** Deletes the records with these ids, if the copy has them. */
  | { kind: 'remove'; list: ListName; tenantId: number; ids: readonly number[] }
  /** Deletes a tenant with all of its records. */
  | { kind: 'drop'; tenantId: number }
  /** Deletes the records of a list that the given pass has not written. */
  | { kind: 'sweep'; list: ListName; tenantId: number; pass: number }

/** A record that was read from a copy. Another program may have changed it. */
export interface CopiedRecord {
  id: number
  /** The record as JSON. */
  text: string
}

/** The number of records of one list of one tenant in the copy. */
export interface RecordCount {
  list: ListName
  tenantId: number
  count: number
}

/** Read access to a copy, which works even while a sync writes the copy. */
export interface CopyReader {
  /** The checkpoint, as positions by key. */
  readonly positions: Positions
  /**
   * The checkpoint of the records that are visible to users of the copy. Only set in a store whose visible records can
   * be older than `positions`.
   */
  readonly published?: Positions
  /** Counts the records that the copy holds. */
  counts(): Promise<RecordCount[]>
  /** Reads the records of a tenant; for the list of tenants, the records of all tenants. */
  records(list: ListName, tenantId: number): AsyncIterable<CopiedRecord>
  close(): Promise<void>
}

/** Write access to a copy, for one sync at a time. */
export interface Store extends CopyReader {
  /**
   * Applies changes in their order and sets positions in one transaction, even when the process is killed.
   *
   * @param positions the positions that changed; null deletes the position
   * @throws Error when the store cannot be written, or when another sync has taken the copy over
   */
  commit(changes: readonly Change[], positions: Positions): Promise<void>
  /** Makes all commits visible to users of the copy. Called at the end of each round, when the copy is in step. */
  publish(): Promise<void>
}

/** Opens the store of the target `--to`. @throws SyncError when another sync uses the copy */
export type OpenStore = () => Promise<Store>

/** Opens the copy of the target `--to` only for reading. @returns null when there is no copy */
export type ReadCopy = () => Promise<CopyReader | null>
