import type { ComponentChildren } from 'preact'

/** Round a table that may be wider than the screen; whoever has no pointer scrolls it with the keys. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: only what can have the focus is scrolled with the keys
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}
