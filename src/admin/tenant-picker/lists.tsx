// The lists of the tenant picker: the results and the chosen tenants. The script of the picker finds both lists by
// their ids, and replaces them.
import type { PlacedTenant } from '../../domain/tenant/tree.ts'
import { sendFragment } from '../../pages/html-page.tsx'
import { formatCount } from '../components/format.tsx'
import type { Handler } from '../context.ts'
import { formBody } from '../form-body.ts'
import { loadPicker, maxChosen, type Picker } from './state.ts'

interface ButtonProps {
  /** The action of the button, in the format that `readPicker` reads. */
  value: string
  /** The id of the list to which the page scrolls after the action, when no script runs. */
  list: 'found' | 'chosen'
  text: string
  /** The name of the tenant, which the accessible name of the button contains. */
  about?: string
  id?: string
}

const Button = ({ value, list, text, about, id }: ButtonProps) => (
  <button
    type="submit"
    name="do"
    value={value}
    id={id}
    class="secondary small"
    formaction={`#${list}`}
    aria-label={about && `${text} ${about}`}
  >
    {text}
  </button>
)

/** The tenants that the search finds, or the tenants directly below a selected tenant. */
export function Results(picker: Picker) {
  const { shown, matches, chosen } = picker
  const chosenIds = new Set(chosen.map(({ grant }) => grant.tenantId))
  return (
    <section id="found" tabIndex={-1} aria-label="Results">
      <input type="hidden" name="searched" value={shown.text} />
      <input type="hidden" name="below" value={shown.parentId ?? ''} />
      <p class="muted">
        {describeResults(picker)}{' '}
        {(shown.text !== '' || shown.parentId !== null) && (
          <Button value="below:" list="found" text="Top of the tree" />
        )}
      </p>
      {matches.count > 0 && (
        <ul class="scroll-pane" aria-label="Tenants found">
          {matches.tenants.map(tenant => (
            <li class="tenant-row">
              <TenantPath tenant={tenant} />
              {tenant.hasChildren && (
                <Button value={`below:${tenant.id}`} list="found" text="Below" about={tenant.name} />
              )}
              <Button
                value={`${chosenIds.has(tenant.id) ? 'remove' : 'add'}:${tenant.id}`}
                list="found"
                // Both buttons have the same id, so that the focus stays when one replaces the other.
                id={`choose-${tenant.id}`}
                text={chosenIds.has(tenant.id) ? 'Remove' : 'Add'}
                about={tenant.name}
              />
            </li>
          ))}
        </ul>
      )}
      <AddMatches {...picker} />
    </section>
  )
}

/** The chosen tenants. For each tenant, a field selects whether the grant includes the tenants below it. */
export const ChosenTenants = ({ chosen }: Picker) => (
  <section id="chosen" tabIndex={-1} aria-label="Chosen tenants">
    <p class="muted">
      {chosen.length === 0 ? 'No tenant is chosen yet.' : `Chosen tenants: ${formatCount(chosen.length)}.`}
    </p>
    {chosen.length > 0 && (
      <ul class="scroll-pane" aria-label="Chosen tenants">
        {chosen.map(({ grant: { tenantId, withDescendants }, tenant }) => {
          const name = tenant?.name ?? `Tenant ${tenantId}, which does not exist`
          return (
            <li class="tenant-row">
              <input type="hidden" name="tenant" value={tenantId} />
              {tenant ? <TenantPath tenant={tenant} /> : <span>{name}</span>}
              <select name={`reach-${tenantId}`} aria-label={`Reach for ${name}`}>
                <option value="alone" selected={!withDescendants}>
                  only this tenant
                </option>
                <option value="below" selected={withDescendants}>
                  with all below it
                </option>
              </select>
              <Button value={`remove:${tenantId}`} list="chosen" text="Remove" about={name} />
            </li>
          )
        })}
      </ul>
    )}
  </section>
)

function AddMatches({ shown, matches: { tenants, count, unchosen }, chosen }: Picker) {
  const total = chosen.length + unchosen
  const canAddAll = count > 1 && unchosen > 0 && total <= maxChosen
  return (
    <>
      {count > tenants.length && (
        <p class="muted">
          … and {formatCount(count - tenants.length)} more:{' '}
          {shown.text === '' ? 'find them by name' : 'enter more of the name'}
          {canAddAll && ', or add them all'}.
        </p>
      )}
      {total > maxChosen && (
        <p class="warning">
          With all results, {formatCount(total)} tenants would be chosen. A form can choose at most{' '}
          {formatCount(maxChosen)}: choose a tenant above them “with all below it”.
        </p>
      )}
      {canAddAll && (
        <p>
          <Button
            value="add-all"
            list="found"
            id="add-all"
            text={
              unchosen === count
                ? `Add all ${formatCount(count)} results`
                : `Add the other ${formatCount(unchosen)} results`
            }
          />
        </p>
      )}
    </>
  )
}

function describeResults({ shown, matches: { tenants, count } }: Picker): string {
  const isOne = count === 1
  const number = count === 0 ? 'No tenant' : isOne ? 'One tenant' : `${formatCount(count)} tenants`
  if (shown.text !== '') return `${number} ${count < 2 ? 'matches' : 'match'} “${shown.text}”.`
  if (shown.parentId !== null) return `${number} directly below ${tenants[0]?.above.at(-1) ?? 'it'}.`
  return count === 0 ? 'There are no tenants yet: the platform creates them.' : `${number} at the top of the tree.`
}

/**
 * The maximum number of tenants of a path that are shown. Of a longer path, only the first and the last tenants are
 * shown.
 */
const maxPathLength = 5

/** The name of a tenant after the names of the tenants above it, with its subdomain and id. */
function TenantPath({ tenant: { id, name, subdomain, above } }: { tenant: PlacedTenant }) {
  const path = above.length > maxPathLength ? [...above.slice(0, 2), '…', ...above.slice(-2)] : above
  return (
    <span>
      {path.length > 0 && <span class="muted">{path.join(' › ')} › </span>}
      {name} <span class="muted">({[subdomain, id].filter(Boolean).join(', ')})</span>
    </span>
  )
}

/** POST /admin/tenants: answers the script of the tenant picker with both lists after a button was pressed */
export const showLists: Handler = async ({ sql }, request, reply) => {
  const body = formBody(request)
  const picker = await loadPicker(sql, body)
  const isSearch = /^(find|below)/.test(body.get('do') ?? '')
  const status = isSearch ? describeResults(picker) : `Chosen tenants: ${formatCount(picker.chosen.length)}.`
  return sendFragment(
    reply,
    <div data-status={status}>
      <Results {...picker} />
      <ChosenTenants {...picker} />
    </div>,
  )
}
