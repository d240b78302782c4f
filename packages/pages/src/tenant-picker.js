// Opens the levels of the tenant picker, and changes its lists, in place. Without a script its buttons post the form.
const picker = document.getElementById('tenants')
const { form } = document.getElementById('search')
const status = document.getElementById('picker-status')

picker.addEventListener('change', markChosen)
// Listens to clicks and not to `submit`: the buttons of the picker do not submit the form, and Enter clicks its first
// button.
form.addEventListener('click', async event => {
  const button = event.target.closest('button[name="do"]')
  const action = actionOf(button)
  if (!action) return
  event.preventDefault()
  if (button.ariaBusy) return
  button.ariaBusy = 'true'
  try {
    status.textContent = await action(button)
    status.className = 'off-screen'
    markChosen()
  } catch {
    status.textContent = 'Nothing was loaded: the service cannot be reached, or your session has ended. Try again.'
    status.className = 'warning'
  }
  button.ariaBusy = null
})

/** @returns what the button does in place; undefined when it submits the form */
function actionOf(button) {
  const name = button?.value.split(':')[0]
  if (name === 'enter') return document.activeElement.id === 'search' ? replaceLists : undefined
  return { toggle, more: showMore, find: replaceLists, add: replaceLists, 'add-all': replaceLists }[name]
}

/** @returns the element that the service answers with */
async function load(path, body) {
  const response = await fetch(path, { redirect: 'error', ...(body && { method: 'POST', body }) })
  if (!response.ok) throw new Error(`${path} answers with ${response.status}.`)
  return new DOMParser().parseFromString(await response.text(), 'text/html').body.firstElementChild
}

// Each action returns the text for the status.

async function toggle(button) {
  const node = button.closest('li')
  const isOpen = button.ariaExpanded === 'true'
  const loaded = node.querySelector(':scope > ul')
  const level = loaded ?? (await load(button.dataset.level))
  if (!loaded) node.append(level)
  // The level is hidden and not removed, because it may have ticked tenants.
  level.hidden = isOpen
  button.ariaExpanded = String(!isOpen)
  return loaded ? '' : level.dataset.status
}

async function showMore(button) {
  const level = await load(button.dataset.level)
  const [first] = level.children
  button.closest('li').replaceWith(...level.children)
  if (first) {
    first.tabIndex = -1
    first.focus()
  }
  return level.dataset.status ?? ''
}

async function replaceLists(button) {
  const isSearch = /^(find|enter)$/.test(button.value)
  const fields = () => {
    const values = new URLSearchParams(new FormData(form))
    values.set('do', isSearch ? 'find' : button.value)
    return values
  }
  let sent
  let lists
  do {
    sent = fields()
    lists = await load(picker.dataset.lists, sent)
    // The answer lacks the changes that were made during the request.
  } while (String(fields()) !== String(sent))
  const focused = document.activeElement.id
  for (const list of [...lists.children]) {
    const former = document.getElementById(list.id)
    const scrolled = former.querySelector('.scroll-pane')?.scrollTop
    former.replaceWith(list)
    if (scrolled && !isSearch) list.querySelector('.scroll-pane')?.scrollTo(0, scrolled)
  }
  const lost = document.activeElement === document.body
  if (lost) (document.getElementById(focused) ?? document.getElementById('search')).focus()
  return lists.dataset.status
}

/**
 * Ticks and disables the chosen tenants in the tree and in the search results, counts them, and keeps opened levels.
 */
function markChosen() {
  const chosen = new Set([...picker.querySelectorAll('[name="tenant"]:checked')].map(box => box.value))
  for (const box of picker.querySelectorAll('[name="pick"]')) {
    const isChosen = chosen.has(box.value)
    if (isChosen || box.disabled) box.checked = isChosen
    box.disabled = isChosen
  }
  const count = document.getElementById('chosen-count')
  if (count) count.textContent = chosen.size.toLocaleString('en')
  const opened = [...picker.querySelectorAll('.level')].filter(level => !level.closest('[hidden]'))
  form.elements.opened.value = opened
    .map(level => `${level.dataset.parent}:${level.querySelectorAll(':scope > :not(.more)').length}`)
    .join()
}
