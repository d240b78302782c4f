// Shows where the words of a search occur in a record.
import type { ComponentChildren } from 'preact'

/**
 * Shows a text and marks the words of a search.
 *
 * @param props.search the search text; when it is empty, nothing is marked
 */
export const Marked = ({ text, search }: { text: string; search: string }) => (
  <>{splitAtWords(text, search).map((part, index) => (index % 2 === 0 ? part : <mark>{part}</mark>))}</>
)

/** Splits a text at the words of a search. Every second part, from index 1, is a word of the search. */
function splitAtWords(text: string, search: string): string[] {
  const words = search.split(/\s+/).filter(word => word !== '')
  if (words.length === 0) return [text]
  // A word of one or two characters must be the beginning of a word, as in the service. When two words overlap, the
  // longer word is marked.
  const patterns = words
    .sort((one, other) => other.length - one.length)
    .map(word => `${[...word].length < 3 ? '(?<![^ ])' : ''}${word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}`)
  return text.split(new RegExp(`(${patterns.join('|')})`, 'giu'))
}

/**
 * Names the fields in which the words of the search occur. For a field that the row does not show, also shows its text.
 */
export const FoundIn = ({ fields }: { fields: readonly { name: string; text?: ComponentChildren }[] }) =>
  fields.length === 0 ? null : (
    <span class="muted found-in">
      Found in{' '}
      {fields.map(({ name, text }, index) => (
        <>
          {index > 0 && ', '}
          {name}
          {text && <> {text}</>}
        </>
      ))}
    </span>
  )
