/** The store of a copy: the records, and the checkpoint that belongs to them. */
import type { Positions } from './checkpoint.ts'
import type { ListName } from './lists.ts'

/** A record as a store keeps it. */
export interface StoredRecord {
  id: number
  updatedAt: string | null
  /** The record as v1 gives it. The client has checked its fields. */
  record: object
}

/** A change of the records. A tenant's own record is in the list `tenants`, under its own id. */
export type Change =
  /** Adds records, or replaces the records with the same ids. */
  | { kind: 'put'; list: ListName; tenantId: number; pass: number; records: readonly StoredRecord[] }
  /** Deletes records, when they are there. */
  | { kind: 'remove'; list: ListName; tenantId: number; ids: readonly number[] }
  /** Deletes a tenant with all of its records. */
  | { kind: 'drop'; tenantId: number }
  /** Deletes the records of a list that were last written in an earlier pass. */
  | { kind: 'sweep'; list: ListName; tenantId: number; pass: number }

/** A record as a copy holds it, which another program may have changed. */
export interface CopiedRecord {
  id: number
  /** The record as JSON. */
  text: string
}

/** The number of records of a tenant in a list of the copy. */
export interface RecordCount {
  list: ListName
  tenantId: number
  count: number
}

/** A copy that is read. It can be read while a sync writes it. */
export interface CopyReader {
  /** The checkpoint: positions by key. */
  readonly positions: Positions
  /** The checkpoint of the records that a user of the copy finds, where these can be older than `positions`. */
  readonly published?: Positions
  /** Counts the records that the copy holds. */
  counts(): Promise<RecordCount[]>
  /** Reads the records of a tenant; for the list of tenants, the records of all tenants. */
  records(list: ListName, tenantId: number): AsyncIterable<CopiedRecord>
  close(): Promise<void>
}

/** A place for a copy. One sync uses it at a time. */
export interface Store extends CopyReader {
  /**
   * Applies changes in their order, and sets positions: all or nothing, even when the process is killed.
   *
   * @param positions the positions that changed; null deletes one
   * @throws Error when the store cannot be written, or when another sync has taken it over
   */
  commit(changes: readonly Change[], positions: Positions): Promise<void>
  /** Shows all commits to users of the copy. Called at the end of each round, when the copy is in step. */
  publish(): Promise<void>
}

/** Opens the store that `--to` names. @throws SyncError when another sync uses it */
export type OpenStore = () => Promise<Store>

/** Opens the copy that `--to` names to read it, and changes nothing. @returns null when there is none */
export type ReadCopy = () => Promise<CopyReader | null>
