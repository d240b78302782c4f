import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { ApiError, type SendOperation } from './api.ts'
import { DashboardChildren, type DashboardTenantFragment, DashboardTenants } from './operations.ts'
import { type TenantMap, toTreeTenant } from './tenants.ts'

/** The maximum number of tenants that a search loads. */
export const maxSearched = 5000

/** The loaded tenants of the token, and the functions that load more tenants. */
export type Tenants = ReturnType<typeof useTenants>

/**
 * Loads the first hundred tenants of the token, which is enough for most tokens, and returns functions that load more.
 */
export function useTenants(request: SendOperation) {
  const [known, setKnown] = useState<TenantMap>(new Map())
  // True after the first request, even if it failed.
  const [started, setStarted] = useState(false)
  // True when all tenants of the token are loaded.
  const [complete, setComplete] = useState(false)
  // For each tenant with loaded children: whether more children exist, and the cursor after which they follow.
  const [loaded, setLoaded] = useState<ReadonlyMap<string, { more: boolean; after: string | null }>>(new Map())
  // The reason why the last request for tenants failed, as a sentence.
  const [error, setError] = useState<string | null>(null)
  /** The position in the list of all tenants, and whether the list is being read. */
  const list = useRef({ after: null as string | null, count: 0, reading: false, ended: false })
  const controller = useMemo(() => new AbortController(), [])
  useEffect(() => () => controller.abort(), [controller])

  const add = useCallback((tenants: readonly DashboardTenantFragment[]) => {
    setKnown(before => {
      const after = new Map(before)
      for (const tenant of tenants) after.set(String(tenant.databaseId), toTreeTenant(tenant))
      return after
    })
  }, [])

  const report = useCallback(
    (failure: unknown) => {
      if (!controller.signal.aborted) setError(failure instanceof ApiError ? failure.message : 'The dashboard failed.')
    },
    [controller],
  )

  const readList = useCallback(
    async (most: number) => {
      const state = list.current
      if (state.reading || state.ended) return
      state.reading = true
      setError(null)
      try {
        while (!state.ended && state.count < most) {
          const { data } = await request(DashboardTenants, { after: state.after }, controller.signal)
          const { tenants } = data
          if (!tenants) break
          add(tenants.nodes)
          state.after = tenants.pageInfo.endCursor
          state.count += tenants.nodes.length
          state.ended = !tenants.pageInfo.hasNextPage
        }
        setComplete(state.ended)
      } catch (failure) {
        report(failure)
      } finally {
        state.reading = false
        setStarted(true)
      }
    },
    [request, add, report, controller],
  )

  useEffect(() => {
    readList(1)
  }, [readList])

  /** Loads the next children of a tenant. */
  const loadChildren = useCallback(
    async (id: string) => {
      setError(null)
      try {
        const after = loaded.get(id)?.after ?? null
        const { data } = await request(DashboardChildren, { tenant: id, after }, controller.signal)
        const children = data.tenant?.children
        if (!children) return
        add(children.nodes)
        const { endCursor, hasNextPage } = children.pageInfo
        setLoaded(before => new Map(before).set(id, { more: hasNextPage, after: endCursor }))
      } catch (failure) {
        report(failure)
      }
    },
    [request, add, report, controller, loaded],
  )

  /** Loads all tenants for a search, but at most `maxSearched`. */
  const loadAll = useCallback(() => readList(maxSearched), [readList])
  return { known, started, complete, loaded, error, add, loadChildren, loadAll }
}
