interface PagesProps {
  /** What the pages list: `tokens`. */
  of: string
  /** The paths of the pages beside this one; null where there is none. */
  newer: string | null
  older: string | null
}

/** The way from one page of a list to the next. */
export function Pages({ of, newer, older }: PagesProps) {
  if (newer === null && older === null) return null
  return (
    <nav class="actions" aria-label={`Pages of ${of}`}>
      {newer !== null && (
        <a href={newer} rel="prev">
          Newer {of}
        </a>
      )}
      {older !== null && (
        <a href={older} rel="next">
          Older {of}
        </a>
      )}
    </nav>
  )
}
