/** Types and functions that all steps of a sync share. */
import type { TenantListName } from '#client'
import type { ChangeAvailability } from './change-availability.ts'
import type { Checkpoint } from './checkpoint.ts'
import type { ExportAvailability } from './export-availability.ts'
import type { ReportEvent } from './report.ts'
import type { Source } from './source.ts'
import type { Store } from './store.ts'

/** The tenants and the lists that a copy includes. */
export interface CopySelection {
  /** The ids of tenants; null for all tenants of the token. */
  tenants: ReadonlySet<number> | null
  /** The lists; null for all lists that the token may read. */
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
   * The lists for which the token lacks the permission, with the service's error message. These lists are tried again
   * in a round that reads all lists, for example after a change of `access`.
   */
  lacking: Map<TenantListName, string>
  /** The lists for which the event `skipped` was already reported. */
  skipped: Set<TenantListName>
  /** True for a dry run, which writes nothing. Lists without a bound are then counted, but not read. */
  isDryRun: boolean
  /** Aborted when the sync has to stop at its next checkpoint. */
  stop: AbortSignal
}

/** Records the `server_time` of an answer, if it is the earliest of the round. */
export function noteServerTime(result: RoundResult, serverTime: string): void {
  if (result.serverTime === '' || serverTime < result.serverTime) result.serverTime = serverTime
}

export interface RoundResult {
  received: number
  removed: number
  /** True when a list was read from its beginning. */
  beganAnew: boolean
  /**
   * The earliest `server_time` of the round's answers. The copy has all changes that were published up to this time.
   */
  serverTime: string
  /**
   * Sentences about lists that the token may not read although the command names them or the copy has their records.
   */
  unreadable: string[]
}

/** Returns whether the selection includes a tenant. */
export const isSelected = ({ selection }: Pick<Sync, 'selection'>, tenantId: number) =>
  selection.tenants?.has(tenantId) ?? true

/** Returns whether the selection includes a list of each tenant. */
export const isListSelected = ({ selection }: Pick<Sync, 'selection'>, list: TenantListName) =>
  selection.lists?.has(list) ?? true

/** Returns the ids of the tenants that are in the copy and in the selection. */
export const selectedTenants = (sync: Sync) => [...sync.checkpoint.tenants.keys()].filter(id => isSelected(sync, id))
