// Shows the parts of a whole as a table with a bar in each row, so no separate plot is necessary.
import type { ComponentChildren } from 'preact'

/** Shows a share of a whole as a bar, next to the text. @param length 0 to 1 */
export const ShareBar = ({ length }: { length: number }) => (
  <svg class="share-bar" aria-hidden="true">
    <rect class="track" width="100%" height="6" rx="3" />
    {length > 0 && <rect class="part" width={`${length * 100}%`} height="6" rx="3" />}
  </svg>
)

/** One part of the whole: its name, its formatted numbers, and the length of its bar. */
interface Share {
  name: ComponentChildren
  /** The texts of the other columns, one per heading after the first. */
  numbers: readonly string[]
  /** 0 to 1. */
  length: number
}

interface ShareListProps {
  id: string
  title: string
  summary: string
  headings: readonly [string, ...string[]]
  shares: readonly Share[]
}

/** Shows a table with a bar in each row. */
export function ShareList({ id, title, summary, headings: [nameHeading, ...headings], shares }: ShareListProps) {
  return (
    <figure class="plot-card card" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      <p class="plot-summary">{summary}</p>
      <table class="shares" aria-labelledby={`${id}-title`}>
        <thead>
          <tr>
            <th scope="col">{nameHeading}</th>
            {headings.map(heading => (
              <th scope="col" class="number">
                {heading}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shares.map(({ name, numbers, length }) => (
            <tr>
              <th scope="row">
                {name}
                <ShareBar length={length && Math.max(0.008, length)} />
              </th>
              {numbers.map(number => (
                <td class="number">{number}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  )
}
