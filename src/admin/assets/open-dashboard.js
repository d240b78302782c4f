// Keeps the token of the page for this browser tab, and goes to the dashboard in place of the page.
// The key is that of src/dashboard/client/token.ts.
const handOver = document.getElementById('hand-over')
try {
  sessionStorage.setItem('voucher-gateway.dashboard-token', handOver.dataset.token)
  location.replace(handOver.dataset.path)
} catch {
  handOver.textContent =
    'This browser keeps no data for this site, which the dashboard needs. Allow it in its settings, then open the dashboard again.'
}
