import type { Sql } from '../../db/connect.ts'
import {
  listTreeLevels,
  type PlacedTenant,
  placeTenants,
  searchTenants,
  type TenantLabel,
  type TreeLevel,
  type TreeTenant,
} from '../../domain/tenant-tree.ts'
import type { TenantGrant } from '../../domain/token.ts'
import { FieldError, FieldGroup } from '../components/field.tsx'
import { formatCount } from '../components/format.ts'
import { maxOpened, maxSearchLength, type PickerState } from './state.ts'

/** The state of a picker with the tenants that it shows. */
export interface Picker {
  state: PickerState
  /** The grants that were chosen; the tenant is undefined when it does not exist. */
  chosen: { grant: TenantGrant; tenant: PlacedTenant | undefined }[]
  matches: { tenants: PlacedTenant[]; count: number } | null
  levels: Map<number | null, TreeLevel>
}

/** Loads the tenants that the picker shows. */
export async function loadPicker(sql: Sql, state: PickerState): Promise<Picker> {
  const chosenIds = state.grants.map(grant => grant.tenantId)
  const [placed, matches, levels] = await Promise.all([
    chosenIds.length === 0 ? [] : placeTenants(sql, chosenIds),
    state.searched === '' ? null : searchTenants(sql, state.searched),
    listTreeLevels(sql, state.opened),
  ])
  const places = new Map(placed.map(tenant => [tenant.id, tenant]))
  return {
    state: { ...state, opened: reachable(levels, state.opened) },
    chosen: state.grants.map(grant => ({ grant, tenant: places.get(grant.tenantId) })),
    matches,
    levels,
  }
}

/** Returns the opened tenants that the tree shows, without those below a closed tenant. */
function reachable(levels: Picker['levels'], opened: number[]): number[] {
  const shown = new Set<number>()
  const visit = (parentId: number | null) => {
    for (const { id } of levels.get(parentId)?.tenants ?? []) {
      shown.add(id)
      visit(id)
    }
  }
  visit(null)
  return opened.filter(id => shown.has(id))
}

interface PickerProps {
  picker: Picker
  /** The path that the form is posted to. */
  path: string
}

/** Chooses tenants without a script: its buttons post the form around it, which comes back with the same values. */
export function TenantPicker({ picker, path }: PickerProps) {
  const { state, chosen, matches } = picker
  return (
    <div id="tenants">
      <FieldGroup
        legend="Tenants"
        hint="The tenants whose data the token may read. “With all below it” includes tenants that are added later."
      >
        <FieldError name="tenants" />
        <input type="hidden" name="opened" value={state.opened.join(',')} />
        <input type="hidden" name="searched" value={state.searched} />
        <Chosen chosen={chosen} />
        <div class="field" id="find">
          <label for="search">Find a tenant</label>
          <p class="hint" id="search-hint">
            Part of its name or subdomain, or its id.
          </p>
          <div class="input-row">
            <input
              id="search"
              name="search"
              type="search"
              value={state.search}
              maxlength={maxSearchLength}
              autocomplete="off"
              autofocus={state.entered}
              aria-describedby="search-hint"
            />
            <button type="submit" name="do" value="find" class="secondary" formaction={`${path}#find`}>
              Find
            </button>
          </div>
        </div>
        {matches && <Matches picker={picker} matches={matches} path={path} />}
        <p class="muted">Or choose it in the tree:</p>
        {state.opened.length === maxOpened && <p class="warning">Close a tenant before you open another.</p>}
        <div class="scroll-pane">
          <Level picker={picker} parent={null} path={path} />
        </div>
      </FieldGroup>
    </div>
  )
}

function Chosen({ chosen }: Pick<Picker, 'chosen'>) {
  if (chosen.length === 0) return <p class="muted">No tenant is chosen yet.</p>
  return (
    <>
      <p class="muted">
        {chosen.length === 1 ? 'One tenant is chosen' : `${formatCount(chosen.length)} tenants are chosen`}; untick a
        tenant to remove it.
      </p>
      <ul class="tree scroll-pane" aria-label="Chosen tenants">
        {chosen.map(({ grant: { tenantId, withDescendants }, tenant }) => {
          const name = tenant?.name ?? `Tenant ${tenantId}, which does not exist`
          return (
            <li class="tree-node">
              <input type="checkbox" id={`tenant-${tenantId}`} name="tenant" value={tenantId} checked />
              <label for={`tenant-${tenantId}`}>{tenant ? <TenantPath tenant={tenant} /> : name}</label>
              <select name={`reach-${tenantId}`} aria-label={`Reach for ${name}`}>
                <option value="alone" selected={!withDescendants}>
                  only this tenant
                </option>
                <option value="below" selected={withDescendants}>
                  with all below it
                </option>
              </select>
            </li>
          )
        })}
      </ul>
    </>
  )
}

function Matches({ picker, matches, path }: { picker: Picker; matches: NonNullable<Picker['matches']>; path: string }) {
  const { tenants } = matches
  const more = matches.count - tenants.length
  const { searched } = picker.state
  if (tenants.length === 0) return <p role="status">No tenant matches “{searched}”.</p>
  return (
    <>
      <p class="muted" role="status">
        {matches.count === 1 ? 'One tenant matches' : `${formatCount(matches.count)} tenants match`} “{searched}”:
      </p>
      <ul class="tree scroll-pane" aria-label="Tenants found">
        {tenants.map(tenant => (
          <li class="tree-node">
            <span>
              <TenantPath tenant={tenant} />
            </span>
            <AddButton picker={picker} tenant={tenant} action={`${path}#find`} />
          </li>
        ))}
      </ul>
      {more > 0 && <p class="muted">… and {formatCount(more)} more: enter more of the name.</p>}
    </>
  )
}

function Level({ picker, parent, path }: { picker: Picker; parent: TreeTenant | null; path: string }) {
  const level = picker.levels.get(parent?.id ?? null)
  if (!level) return parent ? null : <p class="muted">There are no tenants yet: the platform creates them.</p>
  const more = level.count - level.tenants.length
  return (
    <ul class={parent ? undefined : 'tree'} aria-label={parent ? `Below ${parent.name}` : 'All tenants'}>
      {level.tenants.map(tenant => {
        const opened = picker.state.opened.includes(tenant.id)
        return (
          <li id={`node-${tenant.id}`}>
            <div class="tree-node">
              <span>
                <TenantName tenant={tenant} />
              </span>
              {tenant.hasChildren && (
                <button
                  type="submit"
                  name="do"
                  value={`${opened ? 'close' : 'open'}:${tenant.id}`}
                  class="secondary small"
                  formaction={`${path}#node-${tenant.id}`}
                  aria-label={`${opened ? 'Close' : 'Open'} ${tenant.name}`}
                  aria-expanded={opened}
                >
                  {opened ? 'Close' : 'Open'}
                </button>
              )}
              <AddButton picker={picker} tenant={tenant} action={`${path}#node-${tenant.id}`} />
            </div>
            {opened && <Level picker={picker} parent={tenant} path={path} />}
          </li>
        )
      })}
      {more > 0 && <li class="muted">… {formatCount(more)} more: find them by name.</li>}
    </ul>
  )
}

function AddButton({ picker, tenant, action }: { picker: Picker; tenant: TenantLabel; action: string }) {
  if (picker.state.grants.some(grant => grant.tenantId === tenant.id)) return <span class="badge">chosen</span>
  return (
    <button
      type="submit"
      name="do"
      value={`add:${tenant.id}`}
      class="secondary small"
      formaction={action}
      aria-label={`Add ${tenant.name}`}
    >
      Add
    </button>
  )
}

/** A longer path shows only its first and last tenants. */
const maxPathLength = 5

function TenantPath({ tenant }: { tenant: PlacedTenant }) {
  const { above } = tenant
  const path = above.length > maxPathLength ? [...above.slice(0, 2), '…', ...above.slice(-2)] : above
  return (
    <>
      {path.length > 0 && <span class="muted">{path.join(' › ')} › </span>}
      <TenantName tenant={tenant} />
    </>
  )
}

const TenantName = ({ tenant }: { tenant: TenantLabel }) => (
  <>
    {tenant.name} <span class="muted">({[tenant.subdomain, tenant.id].filter(Boolean).join(', ')})</span>
  </>
)
