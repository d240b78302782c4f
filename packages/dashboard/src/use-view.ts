import { createContext } from 'preact'
import { useCallback, useContext, useEffect, useState } from 'preact/hooks'
import type { Go, View } from './view.ts'

/**
 * Provides the view to the components of the page. While the figures of a new view load, the figures still get the
 * previous view.
 */
export const ShownView = createContext<{ view: View; go: Go } | null>(null)

/** Returns the view that the component must show, and the function that changes the view. */
export function useView(): { view: View; go: Go } {
  const shown = useContext(ShownView)
  if (!shown) throw new Error('There is no ShownView around this component.')
  return shown
}

/** Calls a function for each event of the window with this name, until the component is removed. */
export function useWindowEvent(name: 'popstate' | 'online' | 'offline', react: () => void): void {
  useEffect(() => {
    addEventListener(name, react)
    return () => removeEventListener(name, react)
  }, [react])
}

/** A function that shows the page with another query string. */
export type Show = (search: string, how: 'push' | 'replace') => void

/** Returns the current query string of the page, and the function that changes it. */
export function useQueryString(): [string, Show] {
  const [search, setSearch] = useState(location.search)
  const read = useCallback(() => setSearch(location.search), [])
  useWindowEvent('popstate', read)
  const show = useCallback((next: string, how: 'push' | 'replace') => {
    if (next === location.search) return
    history[how === 'push' ? 'pushState' : 'replaceState'](null, '', next)
    setSearch(next)
  }, [])
  return [search, show]
}
