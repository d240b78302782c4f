import { useEffect, useRef, useState } from 'preact/hooks'

interface SearchInputProps {
  /** The current search text. */
  text: string
  /** Called with the trimmed new text when the viewer pauses typing or presses Enter. */
  onSearch: (text: string) => void
  id?: string
  placeholder?: string
}

/** The search begins when no key was pressed for this time, in milliseconds. */
const typingPause = 300

/** The input field of a search, which reports the text after a short pause. */
export function SearchInput({ text, onSearch, ...attributes }: SearchInputProps) {
  const [typed, setTyped] = useState(text)
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  // The view may change during the pause, so the latest callback is called.
  const search = useRef((_value: string) => {})
  search.current = value => value.trim() !== text && onSearch(value.trim())
  // Keeps a typed space at the end, because the viewer may type another word.
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
        look(value, typingPause)
      }}
      onKeyDown={event => event.key === 'Enter' && look(event.currentTarget.value, 0)}
    />
  )
}
