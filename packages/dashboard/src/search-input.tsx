import { useEffect, useRef, useState } from 'preact/hooks'

interface SearchInputProps {
  /** The text that is looked for. */
  text: string
  /** Called with the new text, without spaces at both ends, when the viewer pauses or presses Enter. */
  onSearch: (text: string) => void
  id?: string
  placeholder?: string
}

/** The time that the search waits for the next key, in milliseconds. */
const pause = 300

/** The field of a search. */
export function SearchInput({ text, onSearch, ...attributes }: SearchInputProps) {
  const [typed, setTyped] = useState(text)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // The view may have changed in another way when the pause is over.
  const search = useRef((_value: string) => {})
  search.current = value => value.trim() !== text && onSearch(value.trim())
  // A trailing space is kept, because another word may follow.
  useEffect(() => setTyped(before => (before.trim() === text ? before : text)), [text])
  useEffect(() => () => clearTimeout(timer.current), [])
  const look = (value: string, wait: number) => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => search.current(value), wait)
  }
  return (
    <input
      {...attributes}
      type="search"
      value={typed}
      autocomplete="off"
      onInput={({ currentTarget: { value } }) => {
        setTyped(value)
        look(value, pause)
      }}
      onKeyDown={event => event.key === 'Enter' && look(event.currentTarget.value, 0)}
    />
  )
}
