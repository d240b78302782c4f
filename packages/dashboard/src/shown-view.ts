import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Go, View } from './view.ts'

/** Provides the view to the parts of the page. While the figures of another view load, they have the former view. */
export const ShownView = createContext<{ view: View; go: Go } | null>(null)

/** Returns the view of the page part that contains the component, and the function that changes the view. */
export function useView(): { view: View; go: Go } {
  const shown = useContext(ShownView)
  if (!shown) throw new Error('There is no ShownView around this component.')
  return shown
}
