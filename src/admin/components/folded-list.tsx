import type { ComponentChildren } from 'preact'
import { formatCount } from './format.tsx'

/** The number of items that are shown without a click. */
const maxItems = 20

/** A list in which only the first 20 items are shown without a click. */
export function FoldedList<Item>({ items, show }: { items: Item[]; show: (items: Item[]) => ComponentChildren }) {
  const folded = items.slice(maxItems)
  return (
    <>
      {show(items.slice(0, maxItems))}
      {folded.length > 0 && (
        <details>
          <summary>and {formatCount(folded.length)} more</summary>
          {show(folded)}
        </details>
      )}
    </>
  )
}
