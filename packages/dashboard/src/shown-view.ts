import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Go, View } from './view.ts'

/** The view that a part of the page shows, and the function that changes it. */
interface Shown {
  view: View
  go: Go
}

/** Provides the view to the parts of the page. While the figures of another view load, theirs is the former one. */
export const ShownView = createContext<Shown | null>(null)

/** Returns the view that is shown around a component. */
export function useView(): Shown {
  const shown = useContext(ShownView)
  if (!shown) throw new Error('There is no ShownView around this component.')
  return shown
}
