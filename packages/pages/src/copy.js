// Shows the copy buttons where the browser has a clipboard. `data-copy` is the id of the element whose text is copied;
// without an id it is the code next to the button.
for (const button of document.querySelectorAll('button[data-copy]')) {
  const source = document.getElementById(button.dataset.copy) ?? button.parentElement.querySelector('code')
  if (!source || !navigator.clipboard) continue
  button.hidden = false
  const label = button.textContent
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent)
      button.textContent = 'Copied'
    } catch {
      getSelection().selectAllChildren(source)
      button.textContent = 'Press Ctrl+C'
    }
    setTimeout(() => {
      button.textContent = label
    }, 2000)
  })
}
