// The parts that the tree and the lists of the tenant picker share.
import type { ComponentChildren } from 'preact'
import type { PlacedTenant, TenantLabel } from '../../domain/tenant/tree.ts'

interface PickBoxProps {
  id: number
  chosen: ReadonlySet<number>
  children: ComponentChildren
}

/** A tenant to tick. The box of a chosen tenant is ticked and disabled; the list of chosen tenants removes it. */
export const PickBox = ({ id, chosen, children }: PickBoxProps) => (
  <label class="pick">
    <input type="checkbox" name="pick" value={id} checked={chosen.has(id)} disabled={chosen.has(id)} />
    <span>{children}</span>
  </label>
)

/** A long list that scrolls by itself; by the keyboard also when all its boxes are disabled. */
export const ScrollPane = ({ label, children }: { label: string; children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: browsers scroll only a focused element with the keys
  <section class="scroll-pane" tabIndex={0} aria-label={label}>
    {children}
  </section>
)

/** The button that moves the ticked tenants to the list of the chosen ones. */
export const AddSelected = ({ id }: { id: string }) => (
  <button type="submit" name="do" value="add" class="secondary" id={id} formaction="#chosen">
    Add selected
  </button>
)

/** A longer path shows only its first and last tenants. */
const maxPathLength = 5

/** The name of a tenant after the names of the tenants above it. */
export function TenantPath({ tenant }: { tenant: PlacedTenant }) {
  const { above } = tenant
  const path = above.length > maxPathLength ? [...above.slice(0, 2), '…', ...above.slice(-2)] : above
  return (
    <>
      {path.length > 0 && <span class="muted">{path.join(' › ')} › </span>}
      <TenantName tenant={tenant} />
    </>
  )
}

/** The name of a tenant, with its subdomain and id. */
export const TenantName = ({ tenant }: { tenant: TenantLabel }) => (
  <>
    {tenant.name} <span class="muted">({[tenant.subdomain, tenant.id].filter(Boolean).join(', ')})</span>
  </>
)
