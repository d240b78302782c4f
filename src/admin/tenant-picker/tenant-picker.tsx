import type { Sql } from '../../db/connect.ts'
import type { FieldErrors } from '../../domain/errors.ts'
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
import { count } from '../components/count.ts'
import { Fault, Group } from '../components/field.tsx'
import { longestSearch, mostOpened, type PickerState } from './state.ts'

/** What the picker shows. */
export interface Picker {
  state: PickerState
  /** What is chosen; without a tenant when there is none of that id. */
  chosen: { grant: TenantGrant; tenant: PlacedTenant | undefined }[]
  matches: { tenants: PlacedTenant[]; count: number } | null
  levels: Map<number | null, TreeLevel>
}

/** Loads what the picker shows. */
export async function loadPicker(sql: Sql, state: PickerState): Promise<Picker> {
  const [placed, matches, levels] = await Promise.all([
    state.grants.length === 0
      ? []
      : placeTenants(
          sql,
          state.grants.map(grant => grant.tenantId),
        ),
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

/** The opened tenants that the tree shows: those below a closed one are forgotten. */
function reachable(levels: Picker['levels'], opened: number[]): number[] {
  const shown = new Set<number>()
  const look = (parentId: number | null) => {
    for (const { id } of levels.get(parentId)?.tenants ?? []) {
      shown.add(id)
      look(id)
    }
  }
  look(null)
  return opened.filter(id => shown.has(id))
}

interface PickerProps {
  picker: Picker
  /** Where the form is posted. */
  path: string
  fieldErrors: FieldErrors
}

/** Chooses tenants within a form, without a script: its buttons post the form, which comes back as it was. */
export function TenantPicker({ picker, path, fieldErrors }: PickerProps) {
  const { state, chosen, matches } = picker
  return (
    <div id="tenants">
      <Group
        legend="Tenants"
        hint="Whose data the token may see. “With all below it” takes in tenants that are added there later."
      >
        <Fault name="tenants" fieldErrors={fieldErrors} />
        <input type="hidden" name="opened" value={state.opened.join(',')} />
        <input type="hidden" name="searched" value={state.searched} />
        <Chosen chosen={chosen} />
        <div class="field" id="find">
          <label for="search">Find a tenant</label>
          <p class="hint" id="search-hint">
            By a part of its name or subdomain, or by its id.
          </p>
          <div class="copied">
            <input
              id="search"
              name="search"
              type="search"
              value={state.search}
              maxlength={longestSearch}
              autocomplete="off"
              autofocus={state.entered}
              aria-describedby="search-hint"
            />
            <button type="submit" name="do" value="find" class="plain" formaction={`${path}#find`}>
              Find
            </button>
          </div>
        </div>
        {matches && <Matches picker={picker} matches={matches} path={path} />}
        <p class="soft">Or look for it in the tree:</p>
        {state.opened.length === mostOpened && <p class="warning">Close a tenant before you open another.</p>}
        <div class="pane">
          <Level picker={picker} parent={null} path={path} />
        </div>
      </Group>
    </div>
  )
}

function Chosen({ chosen }: Pick<Picker, 'chosen'>) {
  if (chosen.length === 0) return <p class="soft">No tenant is chosen yet.</p>
  return (
    <>
      <p class="soft">
        {chosen.length === 1 ? 'One tenant is chosen' : `${count(chosen.length)} tenants are chosen`}; untick one to
        drop it.
      </p>
      <ul class="tree pane" aria-label="Chosen tenants">
        {chosen.map(({ grant: { tenantId, withDescendants }, tenant }) => {
          const name = tenant?.name ?? `Tenant ${tenantId}, which is no longer there`
          return (
            <li key={tenantId} class="node">
              <input type="checkbox" id={`tenant-${tenantId}`} name="tenant" value={tenantId} checked />
              <label for={`tenant-${tenantId}`}>{tenant ? <Place tenant={tenant} /> : name}</label>
              <select name={`reach-${tenantId}`} aria-label={`How far for ${name}`}>
                <option value="alone" selected={!withDescendants}>
                  this tenant alone
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
      <p class="soft" role="status">
        {matches.count === 1 ? 'One tenant matches' : `${count(matches.count)} tenants match`} “{searched}”:
      </p>
      <ul class="tree pane" aria-label="Tenants found">
        {tenants.map(tenant => (
          <li key={tenant.id} class="node">
            <span>
              <Place tenant={tenant} />
            </span>
            <Add picker={picker} tenant={tenant} action={`${path}#find`} />
          </li>
        ))}
      </ul>
      {more > 0 && <p class="soft">… and {count(more)} more: search for more of the name.</p>}
    </>
  )
}

function Level({ picker, parent, path }: { picker: Picker; parent: TreeTenant | null; path: string }) {
  const level = picker.levels.get(parent?.id ?? null)
  if (!level) return parent ? null : <p class="soft">There are no tenants yet: the platform brings them.</p>
  const more = level.count - level.tenants.length
  return (
    <ul class={parent ? undefined : 'tree'} aria-label={parent ? `Below ${parent.name}` : 'All tenants'}>
      {level.tenants.map(tenant => {
        const opened = picker.state.opened.includes(tenant.id)
        return (
          <li key={tenant.id} id={`node-${tenant.id}`}>
            <div class="node">
              <span>
                <Label tenant={tenant} />
              </span>
              {tenant.hasChildren && (
                <button
                  type="submit"
                  name="do"
                  value={`${opened ? 'close' : 'open'}:${tenant.id}`}
                  class="plain small"
                  formaction={`${path}#node-${tenant.id}`}
                  aria-label={`${opened ? 'Close' : 'Open'} ${tenant.name}`}
                  aria-expanded={opened}
                >
                  {opened ? 'Close' : 'Open'}
                </button>
              )}
              <Add picker={picker} tenant={tenant} action={`${path}#node-${tenant.id}`} />
            </div>
            {opened && <Level picker={picker} parent={tenant} path={path} />}
          </li>
        )
      })}
      {more > 0 && <li class="soft">… {count(more)} more: find them by name.</li>}
    </ul>
  )
}

function Add({ picker, tenant, action }: { picker: Picker; tenant: TenantLabel; action: string }) {
  if (picker.state.grants.some(grant => grant.tenantId === tenant.id)) return <span class="badge">chosen</span>
  return (
    <button
      type="submit"
      name="do"
      value={`add:${tenant.id}`}
      class="plain small"
      formaction={action}
      aria-label={`Add ${tenant.name}`}
    >
      Add
    </button>
  )
}

/** Of a long way down only its ends are named. */
const longestWay = 5

function Place({ tenant }: { tenant: PlacedTenant }) {
  const { above } = tenant
  const way = above.length > longestWay ? [...above.slice(0, 2), '…', ...above.slice(-2)] : above
  return (
    <>
      {way.length > 0 && <span class="soft">{way.join(' › ')} › </span>}
      <Label tenant={tenant} />
    </>
  )
}

const Label = ({ tenant }: { tenant: TenantLabel }) => (
  <>
    {tenant.name} <span class="soft">({[tenant.subdomain, tenant.id].filter(Boolean).join(', ')})</span>
  </>
)
