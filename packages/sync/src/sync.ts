/** The parts that all steps of a sync share. */
import type { TenantListName } from '#client'
import type { ChangeAvailability } from './change-availability.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { ExportAvailability } from './export-availability.ts'
import type { ReportEvent } from './report.ts'
import type { Source } from './source.ts'
import type { Store } from './store.ts'

/** The part of a token's records that a copy holds. */
export interface CopySelection {
  /** The ids of tenants; null for all tenants of the token. */
  tenants: ReadonlySet<number> | null
  /** The lists; null for all that the token may read. */
  lists: ReadonlySet<TenantListName> | null
}

/** A sync that runs. */
export interface Sync {
  source: Source
  exports: ExportAvailability
  changes: ChangeAvailability
  store: Store
  checkpoint: Checkpoint
  selection: CopySelection
  report: ReportEvent
  /**
   * The lists whose permission the token lacks, with the service's messages. A round that reads everything tries
   * them again; a change of `access` causes such a round.
   */
  lacking: Map<TenantListName, string>
  /** The lists that were reported as left out. */
  skipped: Set<TenantListName>
  /** True when nothing is written: lists without a bound are counted, and not read. */
  isDryRun: boolean
  /** Aborted when the sync has to stop at its next checkpoint. */
  stop: AbortSignal
}

/** Records the `server_time` of an answer of a round. */
export function noteServerTime(result: RoundResult, serverTime: string): void {
  if (result.serverTime === '' || serverTime < result.serverTime) result.serverTime = serverTime
}

/** The result of a round. */
export interface RoundResult {
  received: number
  removed: number
  /** True when a list was read from its beginning. */
  beganAnew: boolean
  /** The earliest `server_time` of the answers: the copy has all changes that were published up to it. */
  serverTime: string
  /** Sentences about lists that the token may not read, although they were requested or were in the copy. */
  unreadable: string[]
}

/** Returns whether the sync keeps a tenant. */
export const isSelected = ({ selection }: Pick<Sync, 'selection'>, tenantId: number) =>
  selection.tenants?.has(tenantId) ?? true

/** Returns whether the sync keeps this list of a tenant. */
export const isListSelected = ({ selection }: Pick<Sync, 'selection'>, list: TenantListName) =>
  selection.lists?.has(list) ?? true

/** Returns the tenants of the copy that are read. */
export const selectedTenants = (sync: Sync) => [...sync.checkpoint.tenants.keys()].filter(id => isSelected(sync, id))
