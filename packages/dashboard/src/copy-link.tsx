import { useState } from 'preact/hooks'
import { useView } from './use-view.ts'
import { hrefOf } from './view.ts'

/** A button that copies the address of the view; none where the browser has no clipboard. */
export function CopyLink() {
  const { view } = useView()
  const [label, setLabel] = useState('Copy link')
  if (!navigator.clipboard) return null
  const copy = async () => {
    // The address of the page may leave the tenant out: the default tenant depends on the token.
    const copied = navigator.clipboard.writeText(new URL(hrefOf(view), location.href).href)
    setLabel(
      await copied.then(
        () => 'Copied',
        () => 'Not copied',
      ),
    )
    setTimeout(() => setLabel('Copy link'), 2000)
  }
  return (
    <button type="button" class="secondary small" onClick={copy}>
      {label}
    </button>
  )
}
