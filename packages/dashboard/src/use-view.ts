import { useCallback, useEffect, useState } from 'preact/hooks'
import { type Change, type Go, hrefOf, type View } from './view.ts'

/** Shows the page with another query string. */
export type Show = (search: string, how: 'push' | 'replace') => void

/** Returns the current query string of the page, and the function that changes it. */
export function useQueryString(): [string, Show] {
  const [search, setSearch] = useState(location.search)
  useEffect(() => {
    const read = () => setSearch(location.search)
    addEventListener('popstate', read)
    return () => removeEventListener('popstate', read)
  }, [])
  const show = useCallback((next: string, how: 'push' | 'replace') => {
    if (next === location.search) return
    history[how === 'push' ? 'pushState' : 'replaceState'](null, '', next)
    setSearch(next)
  }, [])
  return [search, show]
}

/** Returns the function with which the parts of the dashboard change the view. */
export const goFrom =
  (view: View, show: Show): Go =>
  (change: Change, how = 'push') =>
    show(hrefOf(view, change), how)
