import type { ComponentChildren } from 'preact'

/** Lets its content scroll sideways when it is wider than the screen. The region has the focus for keyboard users. */
export function ScrollRegion({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: browsers scroll only a focused element with the keys
    <section class="scroll" tabIndex={0} aria-label={label}>
      {children}
    </section>
  )
}
