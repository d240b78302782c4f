// The chosen tenants, and the tenants that a search finds. The script of the picker replaces both by their ids.
import type { TenantMatches } from '../../domain/tenant/tree.ts'
import { formatCount } from '../components/format.tsx'
import type { PickerLists } from './load.ts'
import { AddSelected, PickBox, ScrollPane, TenantPath } from './parts.tsx'
import { maxChosen } from './state.ts'

/** The chosen tenants, each with its reach. */
export const ChosenTenants = ({ chosen }: Pick<PickerLists, 'chosen'>) => (
  <div id="chosen">
    {chosen.length === 0 ? (
      <p class="muted">No tenant is chosen yet.</p>
    ) : (
      <p class="muted">
        Chosen tenants: <span id="chosen-count">{formatCount(chosen.length)}</span>. Untick a tenant to remove it.
      </p>
    )}
    {chosen.length > 0 && (
      <ul class="tree scroll-pane" aria-label="Chosen tenants">
        {chosen.map(({ grant: { tenantId, withDescendants }, tenant }) => {
          const name = tenant?.name ?? `Tenant ${tenantId}, which does not exist`
          return (
            <li class="tree-node">
              <label class="pick">
                <input type="checkbox" name="tenant" value={tenantId} checked />
                <span>{tenant ? <TenantPath tenant={tenant} /> : name}</span>
              </label>
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
    )}
  </div>
)

/** The tenants that the search finds; an empty element without a search. */
export function SearchMatches({ chosen, searched, matches }: PickerLists) {
  const chosenIds = new Set(chosen.map(({ grant }) => grant.tenantId))
  return (
    <div id="found">
      <input type="hidden" name="searched" value={searched} />
      {matches && <p class="muted">{describeMatches(searched, matches)}</p>}
      {matches && matches.count > 0 && (
        <>
          <ScrollPane label="Results">
            <ul class="tree" aria-label="Tenants found">
              {matches.tenants.map(tenant => (
                <li class="tree-node">
                  <PickBox id={tenant.id} chosen={chosenIds}>
                    <TenantPath tenant={tenant} />
                  </PickBox>
                </li>
              ))}
            </ul>
          </ScrollPane>
          <AddMatches matches={matches} chosenCount={chosen.length} />
        </>
      )}
    </div>
  )
}

function AddMatches({ matches, chosenCount }: { matches: TenantMatches; chosenCount: number }) {
  const { tenants, count, unchosen } = matches
  const isTooMany = chosenCount + unchosen > maxChosen
  const canAddAll = count > 1 && unchosen > 0 && !isTooMany
  return (
    <>
      {count > tenants.length && (
        <p class="muted">
          … and {formatCount(count - tenants.length)} more: enter more of the name{canAddAll && ', or add them all'}.
        </p>
      )}
      {isTooMany && (
        <p class="warning">
          With all results, {formatCount(chosenCount + unchosen)} tenants would be chosen. A form can choose at most{' '}
          {formatCount(maxChosen)}: choose a tenant above them “with all below it”.
        </p>
      )}
      <div class="actions">
        <AddSelected id="add-found" />
        {canAddAll && (
          <button type="submit" name="do" value="add-all" class="secondary" id="add-all" formaction="#chosen">
            {addAllLabel(matches)}
          </button>
        )}
      </div>
    </>
  )
}

function addAllLabel({ count, unchosen }: TenantMatches): string {
  if (unchosen === count) return `Add all ${formatCount(count)} results`
  return unchosen === 1 ? 'Add the other result' : `Add the other ${formatCount(unchosen)} results`
}

/** Returns the sentence with the number of matches. */
export const describeMatches = (searched: string, { count }: TenantMatches): string =>
  `${count === 0 ? 'No tenant matches' : count === 1 ? 'One tenant matches' : `${formatCount(count)} tenants match`} “${searched}”.`
