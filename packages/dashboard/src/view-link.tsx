import type { ComponentChildren } from 'preact'
import { type Change, type Go, hrefOf, type View } from './view.ts'

interface ViewLinkProps {
  view: View
  go: Go
  /** The difference of the view that the link leads to. */
  change: Change
  /** True when the link leads to the view that is shown. */
  current?: boolean
  /** The id of the part that the link leads to on the same page: it gets the focus, and is scrolled into view. */
  reveals?: string
  class?: string
  children: ComponentChildren
}

/** Gives a part of the page the focus. Runs after the change is drawn: a dialog that closes returns its focus first. */
function reveal(id: string): void {
  const part = document.getElementById(id)
  part?.focus({ preventScroll: true })
  part?.scrollIntoView()
}

/** A link to another view. A plain click shows it without loading the page; it can be opened in a new tab too. */
export const ViewLink = ({ view, go, change, current, reveals, class: name, children }: ViewLinkProps) => (
  <a
    href={hrefOf(view, change)}
    class={name}
    aria-current={current ? 'true' : undefined}
    onClick={event => {
      if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
      event.preventDefault()
      go(change)
      if (reveals) requestAnimationFrame(() => reveal(reveals))
    }}
  >
    {children}
  </a>
)
