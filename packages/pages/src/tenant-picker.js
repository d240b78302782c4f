// Changes the lists of the tenant picker in place. Without a script its buttons post the form.
const picker = document.getElementById('tenants')
const search = document.getElementById('search')
const status = document.getElementById('picker-status')
const { form } = search
/** The latest action. The next request begins after this request, with its lists. */
let latest = Promise.resolve()

// Listens to clicks and not to `submit`: the buttons of the picker do not submit the form, and Enter clicks its first
// button.
form.addEventListener('click', event => {
  const button = event.target.closest('button[name="do"]')
  const isEntered = button?.value === 'enter' && document.activeElement === search
  if (!isEntered && !picker.contains(button)) return
  event.preventDefault()
  latest = latest.then(() => act(isEntered ? 'find' : button.value, button.closest('section')))
})

/**
 * Replaces the lists by the service's answer to a button, and announces what changed.
 *
 * @param list the list with the button, which gets the focus when the button is gone
 */
async function act(button, list) {
  const isSearch = /^(find|below)/.test(button)
  const searched = search.value
  try {
    const lists = await load(button)
    // Text that was typed during the request stays.
    if (button.startsWith('below') && search.value === searched) search.value = ''
    const focused = document.activeElement.id
    for (const next of [...lists.children]) {
      const former = document.getElementById(next.id)
      const scrolled = former.querySelector('.scroll-pane')?.scrollTop
      former.replaceWith(next)
      if (scrolled && !isSearch) next.querySelector('.scroll-pane')?.scrollTo(0, scrolled)
    }
    const isLost = document.activeElement === document.body
    if (isLost) (document.getElementById(focused) ?? document.getElementById(list?.id) ?? search).focus()
    status.textContent = lists.dataset.status
    status.className = 'off-screen'
  } catch {
    status.textContent = 'Nothing was loaded: the service cannot be reached, or your session has ended. Try again.'
    status.className = 'warning'
  }
}

/** @returns the element that the service answers with, when nothing was changed during the request */
async function load(button) {
  const body = new URLSearchParams(new FormData(form))
  body.set('do', button)
  const response = await fetch(picker.dataset.lists, { method: 'POST', redirect: 'error', body })
  if (!response.ok) throw new Error(`The service answers with ${response.status}.`)
  const lists = new DOMParser().parseFromString(await response.text(), 'text/html').body.firstElementChild
  const changed = new URLSearchParams(new FormData(form))
  changed.set('do', button)
  return String(changed) === String(body) ? lists : load(button)
}
