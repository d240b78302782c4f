// Shows what the search finds while a person types, in place of the page's text. Without it, Enter leads to the same results.

const field = document.querySelector('.sidebar input[type="search"]')
const main = document.getElementById('main')
const contents = document.querySelector('.contents')
const text = [...main.childNodes]
const pauseMs = 150
const failed =
  '<main id="main"><h1>Search</h1><p role="status">The search failed. Press Enter to try again.</p><ul class="links"></ul></main>'
let typed = 0
let place = null

field.addEventListener('input', async () => {
  const query = field.value.trim()
  const turn = ++typed
  if (query === '') return restore()
  await new Promise(resume => setTimeout(resume, pauseMs))
  if (turn !== typed) return
  const page = new DOMParser().parseFromString(await read(query).catch(() => failed), 'text/html')
  if (turn === typed) show(page.getElementById('main'))
})

async function read(query) {
  const response = await fetch(`${field.form.action}?q=${encodeURIComponent(query)}`)
  return response.ok ? response.text() : failed
}

/** Screen readers read changes of a status that stays in the document. */
function show(found) {
  contents?.setAttribute('hidden', '')
  if (place === null) {
    place = scrollY
    main.replaceChildren(...found.childNodes)
    return
  }
  main.querySelector('[role="status"]').textContent = found.querySelector('[role="status"]').textContent
  main.querySelector('.links').replaceWith(found.querySelector('.links'))
}

function restore() {
  contents?.removeAttribute('hidden')
  main.replaceChildren(...text)
  scrollTo(0, place ?? scrollY)
  place = null
}

field.addEventListener('keydown', event => {
  if (event.key !== 'ArrowDown') return
  event.preventDefault()
  main.querySelector('.links a')?.focus()
})
