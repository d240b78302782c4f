// The tree of tenants: a list of links, with a button in front of each tenant that has children.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { FieldError } from './placeholders.tsx'
import { compareByName, listAncestors, listChildren, searchTenants, type TreeTenant } from './tenants.ts'
import { maxSearched, type Tenants } from './use-tenants.ts'
import { useView } from './use-view.ts'
import { ViewLink } from './view-link.tsx'

interface TenantTreeProps {
  tenants: Tenants
  /** The ids of the tenants at the top of the token's tree. */
  roots: readonly string[]
}

/** The maximum number of search results that are shown. */
const maxMatches = 50

/** Chooses the tenant. */
export function TenantTree({ tenants, roots }: TenantTreeProps) {
  const [text, setText] = useState('')
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const isSearch = text.trim() !== ''
  return (
    <>
      <div class="field">
        <label for="tenant-search">Find a tenant</label>
        <input
          id="tenant-search"
          type="search"
          autocomplete="off"
          spellcheck={false}
          value={text}
          onInput={event => {
            setText(event.currentTarget.value)
            tenants.loadAll()
          }}
        />
      </div>
      <FieldError text={tenants.error} />
      {isSearch ? <Matches tenants={tenants} text={text} /> : <Tree {...{ tenants, roots, opened, setOpened }} />}
    </>
  )
}

function Matches({ tenants, text }: Omit<TenantTreeProps, 'roots'> & { text: string }) {
  const { view } = useView()
  const matches = useMemo(() => searchTenants(tenants.known, text), [tenants.known, text])
  const shown = matches.slice(0, maxMatches)
  const isPartial = !tenants.complete && tenants.known.size >= maxSearched
  return (
    <>
      <p class="hint" role="status">
        {matches.length === 1 ? 'One tenant' : `${matches.length} tenants`} found
        {isPartial
          ? ` among the first ${tenants.known.size}.`
          : tenants.complete
            ? '.'
            : `; ${tenants.known.size} are searched so far.`}
      </p>
      <ul class="tenant-list" aria-label="Tenants found">
        {shown.map(({ id, name }) => (
          <li key={id}>
            <ViewLink change={{ tenant: id }} current={id === view.tenant}>
              {name}
            </ViewLink>
            <span class="hint">
              {listAncestors(tenants.known, id)
                .map(tenant => tenant.name)
                .join(' › ')}
            </span>
          </li>
        ))}
      </ul>
      {matches.length > shown.length && (
        <p class="hint">… and {matches.length - shown.length} more: type more of the name.</p>
      )}
    </>
  )
}

interface TreeProps extends TenantTreeProps {
  opened: ReadonlySet<string>
  setOpened(update: (before: ReadonlySet<string>) => ReadonlySet<string>): void
}

function Tree({ tenants, roots, opened, setOpened }: TreeProps) {
  const { view } = useView()
  const { known, started, complete } = tenants
  const children = useMemo(() => listChildren(known), [known])
  const above = listAncestors(known, view.tenant)
    .map(({ id }) => id)
    .join()
  // Opens the ancestors of the tenant that is shown, so that it is visible in the tree.
  useEffect(() => {
    if (above !== '') setOpened(before => new Set([...before, ...above.split(',')]))
  }, [above])
  // Opens a single root, because it would hide all other tenants while it is closed.
  const single = roots.length === 1 ? roots[0] : undefined
  useEffect(() => {
    if (single) setOpened(before => new Set([...before, single]))
  }, [single])
  // Loads the missing children of an open tenant, even when the tenant was opened by a choice of its descendant.
  useEffect(() => {
    if (complete || !started) return
    for (const id of opened) if (!tenants.loaded.has(id)) tenants.loadChildren(id)
  }, [opened, started, complete])

  const toggle = (id: string) =>
    setOpened(before => new Set(before.has(id) ? [...before].filter(other => other !== id) : [...before, id]))

  const Level = ({ list, label }: { list: readonly TreeTenant[]; label: string }) => (
    <ul class="tenant-list" aria-label={label}>
      {list.map(tenant => item(tenant))}
    </ul>
  )

  const item = ({ id, name }: TreeTenant) => {
    const below = children.get(id) ?? []
    const { more = false } = tenants.loaded.get(id) ?? {}
    const isLeaf = below.length === 0 && (complete || tenants.loaded.has(id))
    const isOpen = opened.has(id) && !isLeaf
    return (
      <li key={id}>
        {isLeaf && complete ? (
          <span class="disclose" />
        ) : (
          <button
            type="button"
            class={isLeaf ? 'disclose leaf' : 'disclose'}
            aria-expanded={isOpen}
            // The button stays even when the loaded tenant has no children, because the button may have the focus.
            aria-disabled={isLeaf || undefined}
            aria-label={isLeaf ? `No tenants below ${name}` : `Tenants below ${name}`}
            onClick={() => toggle(id)}
          />
        )}
        <ViewLink change={{ tenant: id }} current={id === view.tenant}>
          {name}
        </ViewLink>
        {isOpen && below.length > 0 && Level({ list: below, label: `Below ${name}` })}
        {isOpen && !complete && more && (
          <button type="button" class="secondary small" onClick={() => tenants.loadChildren(id)}>
            More tenants below {name}
          </button>
        )}
      </li>
    )
  }

  const first = roots.flatMap(id => known.get(id) ?? []).sort(compareByName)
  return Level({ list: first, label: 'Tenants' })
}
