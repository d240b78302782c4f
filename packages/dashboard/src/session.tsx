import { useEffect, useMemo } from 'preact/hooks'
import { describeToken } from '/assets/site.js'
import { createSendOperation, type Rate } from './api.ts'
import { LiveContext, useFollow, useLive } from './live.ts'
import { useNotices } from './notices.tsx'
import { DashboardViewer } from './operations.ts'
import { Overview } from './overview.tsx'
import { Failure } from './placeholders.tsx'
import { compareByName, mayBeWithin, toTreeTenant } from './tenants.ts'
import { useAnswer } from './use-answer.ts'
import { useTenants } from './use-tenants.ts'
import { useQueryString } from './use-view.ts'
import { readAddress } from './view.ts'

const noVariables = {}

/**
 * Shows the dashboard for one token.
 *
 * @param props.onEnd called when the service refuses the token
 */
export function Session({ token, onEnd }: { token: string; onEnd(): void }) {
  const [search, show] = useQueryString()
  const { notices, rateLeft, listener } = useNotices()
  const { live, liveState } = useLive(token, onEnd)
  // The function is created only once, because a session has only one token.
  const request = useMemo(() => {
    const onRate = (rate: Rate) => {
      listener.onRate(rate)
      live.onRate(rate)
    }
    return createSendOperation(token, { ...listener, onRate, onEnd })
  }, [])
  const tenants = useTenants(request)
  const answer = useAnswer(request, DashboardViewer, noVariables)
  const viewer = answer.data?.viewer
  useEffect(() => {
    if (viewer) describeToken(viewer)
  }, [viewer])
  const address = useMemo(() => readAddress(search), [search])

  const granted = viewer?.tenants.map(({ tenant }) => tenant)
  const { add } = tenants
  useEffect(() => {
    if (granted) add(granted)
  }, [viewer, add])
  // The roots of the tree, the tenants whose parent the token may not see. Empty when the parents of tenants form a
  // cycle.
  const begins = granted?.filter(({ parent }) => parent === null) ?? []
  const roots = (begins.length > 0 ? begins : (granted ?? []))
    .map(toTreeTenant)
    .sort(compareByName)
    .map(({ id }) => id)
  const tenant = address.tenant ?? roots[0]
  useFollow(live, address.isLive, id => tenant !== undefined && mayBeWithin(tenants.known, roots, id, tenant))

  return (
    <>
      {tenant === undefined ? (
        <main id="main">
          <h1>Dashboard</h1>
          <Failure answer={answer} />
          {!answer.error && (
            <p role="status">{viewer ? 'This token is authorised for no tenant.' : 'The dashboard loads …'}</p>
          )}
          {notices}
        </main>
      ) : (
        <LiveContext.Provider value={live}>
          <Overview {...{ address, tenant, roots, tenants, request, show, notices, liveState }} viewer={answer} />
        </LiveContext.Provider>
      )}
      {rateLeft}
    </>
  )
}
