import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import type { SendOperation } from './api.ts'
import { Controls } from './controls.tsx'
import { Figures } from './figures/figures.tsx'
import type { Currency } from './figures/model.ts'
import type { LiveState } from './live.ts'
import { type DashboardTenantFragment, DashboardTenantPath, type DashboardViewerQuery } from './operations.ts'
import { dayIn } from './period.ts'
import { Failure, Warning } from './placeholders.tsx'
import { TenantTree } from './tenant-tree.tsx'
import { listAncestors, type TreeTenant } from './tenants.ts'
import { type Answer, useAnswer } from './use-answer.ts'
import type { Tenants } from './use-tenants.ts'
import { type Show, ShownView } from './use-view.ts'
import { type Address, type Go, hrefOf, resolveView } from './view.ts'
import { ViewLink } from './view-link.tsx'
import { VoucherPage } from './vouchers/voucher-page.tsx'

interface OverviewProps {
  address: Address
  /** The tenant that is shown. */
  tenant: string
  roots: readonly string[]
  tenants: Tenants
  request: SendOperation
  show: Show
  notices: ComponentChildren
  liveState: LiveState
  /** The answer about the token of the session, with its permissions. */
  viewer: Answer<DashboardViewerQuery, object>
}

/** A tenant of an answer, with its ancestors. */
interface Path extends DashboardTenantFragment {
  parent?: Path | null
}

/**
 * Returns the next tenant to request on the path from a tenant up to a root. One answer contains only a part of the
 * path.
 *
 * @param highest the highest known tenant of the path
 * @returns null when the whole path is known, or when the roots are not known yet
 */
function findNextToLoad(tenant: string, highest: TreeTenant | undefined, roots: readonly string[]): string | null {
  if (!highest) return tenant
  return roots.length === 0 || roots.includes(highest.id) ? null : highest.parentId
}

/** Shows one tenant: the tree, the controls, and the figures for the values of the controls. */
export function Overview(props: OverviewProps) {
  const { address, tenant, roots, tenants, request, show, notices, liveState, viewer } = props
  const permissions = viewer.data?.viewer.permissions
  const [isOpen, setOpen] = useState(false)
  const [currencies, setCurrencies] = useState<readonly Currency[] | null>(null)
  const { known, add } = tenants
  const above = useMemo(() => listAncestors(known, tenant), [known, tenant])
  const next = findNextToLoad(tenant, above[0] ?? known.get(tenant), roots)
  const path = useAnswer(request, DashboardTenantPath, next === null ? null : { tenant: next })
  useEffect(() => {
    const found: DashboardTenantFragment[] = []
    for (let each: Path | null | undefined = path.data?.tenant; each; each = each.parent) found.push(each)
    if (found.length > 0) add(found)
  }, [path.data, add])

  const shown = known.get(tenant)
  const timeZone = address.timeZone ?? shown?.timeZone ?? 'UTC'
  const view = resolveView(address, tenant, dayIn(timeZone, new Date()))
  const go: Go = (change, how = 'push') => show(hrefOf(view, change), how)
  useEffect(() => {
    if (shown) document.title = `${shown.name} · Dashboard · Voucher Gateway`
  }, [shown])
  // Closes the tree after a choice, because on a narrow screen the open tree covers the figures.
  useEffect(() => setOpen(false), [tenant])
  const isGone = !shown && path.isCurrent && path.data?.tenant === null

  return (
    <ShownView.Provider value={{ view, go }}>
      <div class="dashboard">
        <aside class="tenants" aria-label="Tenants">
          <button
            type="button"
            class="secondary toggle"
            aria-expanded={isOpen}
            aria-controls="tenant-panel"
            onClick={() => setOpen(!isOpen)}
          >
            Choose a tenant
          </button>
          <div id="tenant-panel" class={isOpen ? 'panel open' : 'panel'}>
            <TenantTree tenants={tenants} roots={roots} />
          </div>
        </aside>
        <main id="main">
          {above.length > 0 && (
            <nav class="above" aria-label="Tenants above">
              {above.map(({ id, name }) => (
                <span key={id}>
                  <ViewLink change={{ tenant: id }}>{name}</ViewLink> ›{' '}
                </span>
              ))}
            </nav>
          )}
          <h1>{shown?.name ?? (isGone ? `Tenant ${tenant}` : 'Dashboard')}</h1>
          <Controls {...{ timeZone, currencies, liveState }} />
          <Warning sentences={address.faults} />
          {notices}
          <Failure answer={viewer} />
          <Failure answer={path} />
          {isGone && <p class="warning">There is no such tenant, or this token is not authorised for it.</p>}
          {!shown && !isGone && !path.error && <p role="status">The tenant loads …</p>}
          {shown && permissions && (
            <>
              <MissingPermissions permissions={permissions} />
              {showsFigures(permissions) && <Figures {...{ request, permissions }} onCurrencies={setCurrencies} />}
              {view.voucher !== null && <VoucherPage request={request} />}
            </>
          )}
        </main>
      </div>
    </ShownView.Provider>
  )
}

const figurePermissions = ['view_vouchers', 'view_orders'] as const

/**
 * Returns whether the token may read at least one kind of figures. Figures of sales and of consents need separate
 * permissions.
 */
const showsFigures = (permissions: readonly string[]) =>
  figurePermissions.every(name => permissions.includes(name)) || permissions.includes('export_customer_information')

function MissingPermissions({ permissions }: { permissions: readonly string[] }) {
  const missing = figurePermissions.filter(name => !permissions.includes(name))
  if (missing.length === 0) return null
  return (
    <p class="warning">
      This token lacks {missing.map((name, index) => [index > 0 && ' and ', <code key={name}>{name}</code>])}: figures
      and purchased vouchers need {figurePermissions.join(' and ')}. An administrator can add it under API access.
    </p>
  )
}
