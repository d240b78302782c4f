import type { ComponentChildren } from 'preact'
import { useView } from './use-view.ts'
import { type Change, type Go, hrefOf } from './view.ts'

interface ViewLinkProps {
  /** The difference between the current view and the target view of the link. */
  change: Change
  /** True when the link leads to the current view. */
  current?: boolean
  /** The id of a part of the page that gets the focus and is scrolled into view. */
  reveals?: string
  class?: string
  children: ComponentChildren
}

/** Shows another view. @param reveals the id of a part of the page that gets the focus, and is scrolled into view */
export function goTo(go: Go, change: Change, reveals?: string): void {
  go(change)
  if (!reveals) return
  // Runs in the next frame, because a dialog that closes returns the focus to its opener first.
  requestAnimationFrame(() => {
    const part = document.getElementById(reveals)
    part?.focus({ preventScroll: true })
    part?.scrollIntoView()
  })
}

/**
 * A link to another view. A plain click shows the other view without loading the page. The browser can also open the
 * link in a new tab.
 */
export function ViewLink({ change, current, reveals, class: name, children }: ViewLinkProps) {
  const { view, go } = useView()
  return (
    <a
      href={hrefOf(view, change)}
      class={name}
      aria-current={current ? 'true' : undefined}
      onClick={event => {
        if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
        event.preventDefault()
        goTo(go, change, reveals)
      }}
    >
      {children}
    </a>
  )
}
