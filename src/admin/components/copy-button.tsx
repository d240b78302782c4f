/** A text with a button that copies it. `copy.js` shows the button where the browser has a clipboard. */
export function TextToCopy({ id, text }: { id: string; text: string }) {
  return (
    <div class="input-row">
      <code id={id} class="code-block">
        {text}
      </code>
      <button type="button" data-copy={id} hidden class="secondary">
        Copy
      </button>
    </div>
  )
}
