// Sends a form that creates a token only once: the answer to a second click would replace the page with the secret.
for (const key of document.querySelectorAll('input[name="idempotencyKey"]')) {
  let isSent = false
  key.form.addEventListener('submit', event => {
    if (isSent) event.preventDefault()
    isSent = true
  })
  // The page may come back from the history as it was left.
  addEventListener('pageshow', () => {
    isSent = false
  })
}
