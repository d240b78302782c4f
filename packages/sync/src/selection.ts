/** The tenants and the lists that a sync reads. */
import type { TenantListName } from '#client'
import type { Sync } from './sync.ts'

/** Returns whether the sync keeps a tenant. */
export const isSelected = ({ selection }: Pick<Sync, 'selection'>, tenantId: number) =>
  selection.tenants?.has(tenantId) ?? true

/** Returns whether the sync keeps this list of a tenant. */
export const isListSelected = ({ selection }: Pick<Sync, 'selection'>, list: TenantListName) =>
  selection.lists?.has(list) ?? true

/** Returns the tenants of the copy that are read. */
export const selectedTenants = (sync: Sync) => [...sync.checkpoint.tenants.keys()].filter(id => isSelected(sync, id))
