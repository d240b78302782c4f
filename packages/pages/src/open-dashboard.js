// Keeps the token of the page for this browser tab, and goes to the dashboard in place of the page.
import { isKept, storeToken } from '/assets/site.js'

const handOver = document.getElementById('hand-over')
if (isKept) {
  storeToken(handOver.dataset.token)
  location.replace(handOver.dataset.path)
} else {
  handOver.textContent =
    'This browser keeps no data for this site, which the dashboard needs. Allow it in its settings, then open the dashboard again.'
}
