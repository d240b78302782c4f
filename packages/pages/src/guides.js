// The language of the samples, and the mark in the table of contents.

const root = document.documentElement
const key = 'voucher-gateway:sample-language'
const languages = ['sh', 'mts', 'py', 'php']

/** Returns the language that was chosen last, or the first language. The browser may refuse to store it. */
function storedLanguage() {
  try {
    const stored = localStorage.getItem(key)
    return languages.includes(stored) ? stored : languages[0]
  } catch {
    return languages[0]
  }
}

// Runs before the page is shown: no block of another language is seen first.
root.classList.add('scripted')
root.dataset.language = storedLanguage()

function choose(language) {
  root.dataset.language = language
  try {
    localStorage.setItem(key, language)
  } catch {
    // The choice holds for this page.
  }
  for (const tab of document.querySelectorAll('.languages button')) {
    const isChosen = tab.dataset.choose === language
    tab.setAttribute('aria-selected', String(isChosen))
    tab.tabIndex = isChosen ? 0 : -1
  }
}

/** Puts tabs over a group of samples (ARIA Authoring Practices, Tabs). */
function addTabs(group) {
  const list = document.createElement('div')
  list.className = 'languages'
  list.setAttribute('role', 'tablist')
  list.setAttribute('aria-label', 'Language')
  const panels = [...group.querySelectorAll('.sample')]
  const tabs = panels.map(panel => {
    const { language, label } = panel.dataset
    const tab = document.createElement('button')
    tab.type = 'button'
    tab.id = `${group.id}-tab-${language}`
    tab.dataset.choose = language
    tab.textContent = label
    tab.setAttribute('role', 'tab')
    panel.id = `${group.id}-${language}`
    tab.setAttribute('aria-controls', panel.id)
    panel.setAttribute('role', 'tabpanel')
    panel.removeAttribute('aria-label')
    panel.setAttribute('aria-labelledby', tab.id)
    tab.addEventListener('click', () => keepInPlace(tab, () => choose(language)))
    return tab
  })
  list.append(...tabs)
  list.addEventListener('keydown', event => {
    const at = tabs.indexOf(event.target)
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    const tab = tabs.at(to % tabs.length)
    tab.focus()
    tab.click()
  })
  group.prepend(list)
}

/** Runs a change of all groups of samples, and keeps the used group at the same position on the screen. */
function keepInPlace(element, change) {
  const before = element.getBoundingClientRect().top
  change()
  scrollBy(0, element.getBoundingClientRect().top - before)
}

/** Makes only elements that scroll sideways reachable by keyboard. */
const reachable = new ResizeObserver(entries => {
  for (const { target } of entries) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0
    else target.removeAttribute('tabindex')
  }
})

/** Marks the section in view in the table of contents. */
function followSections() {
  const links = new Map([...document.querySelectorAll('.contents a')].map(link => [link.hash.slice(1), link]))
  const headings = [...document.querySelectorAll('article h2')]
  const mark = () => {
    const isAtEnd = scrollY > 0 && scrollY + innerHeight >= root.scrollHeight - 2
    const passed = headings.filter(heading => heading.getBoundingClientRect().top < 120)
    const current = isAtEnd ? headings.at(-1) : passed.at(-1)
    for (const [id, link] of links) {
      if (id === current?.id) link.setAttribute('aria-current', 'true')
      else link.removeAttribute('aria-current')
    }
  }
  addEventListener('scroll', mark, { passive: true })
  mark()
}

document.addEventListener('DOMContentLoaded', () => {
  for (const group of document.querySelectorAll('.samples')) addTabs(group)
  for (const element of document.querySelectorAll('.code pre, .scroll')) reachable.observe(element)
  choose(root.dataset.language)
  followSections()
})
