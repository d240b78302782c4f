import type { ComponentChildren } from 'preact'
import { useView } from './use-view.ts'
import { type Change, type Go, hrefOf } from './view.ts'

interface ViewLinkProps {
  /** The difference of the view that the link leads to. */
  change: Change
  /** True when the link leads to the view that is shown. */
  current?: boolean
  /** The id of the part that the link leads to on the same page: it gets the focus, and is scrolled into view. */
  reveals?: string
  class?: string
  children: ComponentChildren
}

/** Shows another view. @param reveals the id of a part of the page that gets the focus, and is scrolled into view */
export function follow(go: Go, change: Change, reveals?: string): void {
  go(change)
  if (!reveals) return
  // Runs after the change is drawn, because a dialog that closes first returns the focus.
  requestAnimationFrame(() => {
    const part = document.getElementById(reveals)
    part?.focus({ preventScroll: true })
    part?.scrollIntoView()
  })
}

/** A link to another view. A plain click shows it without loading the page; the browser can open it in a new tab. */
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
        follow(go, change, reveals)
      }}
    >
      {children}
    </a>
  )
}
