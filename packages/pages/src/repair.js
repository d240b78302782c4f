// Adds to the elements of a third-party page what screen readers and the keyboard need.

/**
 * Repairs elements now, and again when the page changes.
 *
 * @param repairs pairs of a selector and the change of an element that it finds
 */
export function keepRepaired(repairs) {
  const repair = () => {
    for (const [selector, change] of repairs) {
      for (const element of document.querySelectorAll(selector)) change(element)
    }
  }
  // Runs once for all changes of an animation frame.
  let isPlanned = false
  new MutationObserver(() => {
    if (isPlanned) return
    isPlanned = true
    requestAnimationFrame(() => {
      isPlanned = false
      repair()
    })
  }).observe(document.body, { childList: true, subtree: true, attributeFilter: ['aria-selected', 'role'] })
  repair()
}
