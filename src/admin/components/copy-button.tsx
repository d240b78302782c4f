/** A text to be taken away, with a button that copies it where a script can (`assets/copy.js`). */
export function Copied({ id, text }: { id: string; text: string }) {
  return (
    <div class="copied">
      <code id={id} class="secret">
        {text}
      </code>
      <button type="button" data-copy={id} hidden class="plain">
        Copy
      </button>
    </div>
  )
}
