// The till of the demo: resolves a voucher at the service, redeems at the platform, and waits for the change in the list.

import { readToken } from '/assets/site.js'

const main = document.getElementById('main')
const [nameForm, amountForm] = main.querySelectorAll('form')
const shown = main.querySelector('dl')
const status = main.querySelector('[role=status]')
const { tenant } = main.dataset
let resolution = null

async function ask(path, body) {
  const response = await fetch(path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      Accept: 'application/json',
      ...(path.startsWith('/api/') && { Authorization: `Bearer ${readToken()}` }),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  return { code: response.status, ...(await response.json()) }
}

const money = ({ current_balance: balance, currency }) =>
  balance === undefined || balance === null
    ? '–'
    : new Intl.NumberFormat('en-GB', { style: 'currency', currency }).format(balance)

/** A scanner types the text of a code: a reference, or the token or URL of a QR code. */
async function resolve(text) {
  const path = `/api/external/v1/tenants/${tenant}/redemptions/resolve`
  const found = await ask(path, { voucher_reference: text.slice(0, 255) })
  return found.code === 404 ? ask(path, { qr_token: text }) : found
}

function show() {
  const { voucher, status: verdict, reason_code: reason, tenant: at } = resolution
  const facts = {
    Voucher: voucher.reference,
    Product: voucher.product_title ?? '–',
    'Sold by': at.source_tenant_name,
    Balance: money(voucher),
    'May be redeemed': verdict === 'redeemable' ? 'yes' : `no: ${reason.replaceAll('_', ' ')}`,
  }
  shown.replaceChildren(
    ...Object.entries(facts).flatMap(([term, text]) =>
      [
        ['dt', term],
        ['dd', text],
      ].map(([name, content]) => {
        const element = document.createElement(name)
        element.textContent = content
        return element
      }),
    ),
  )
  amountForm.hidden = verdict !== 'redeemable'
}

async function look(text) {
  const found = await resolve(text)
  if (found.code !== 200) {
    resolution = null
    shown.replaceChildren()
    amountForm.hidden = true
    status.textContent = found.message
    return false
  }
  resolution = found.data
  show()
  return true
}

const changes = since => {
  const { source_tenant_id: owner } = resolution.tenant
  return ask(`/api/external/v1/tenants/${owner}/sales/purchased-vouchers?updated_since=${since}`)
}

/** Waits until the list of v1 has the voucher with its new balance, for 30 seconds at most. @returns the end of a sentence */
async function untilListed(since, id) {
  const start = performance.now()
  const passed = () => Math.round(performance.now() - start)
  while (passed() < 30_000) {
    const { code, data, message } = await changes(since)
    if (code !== 200) return `but the list of v1 cannot be read: ${message}`
    if (data.some(voucher => voucher.id === id)) return `and the list of v1 had the change after ${passed()} ms.`
    await new Promise(done => setTimeout(done, 100))
  }
  return 'but the list of v1 does not have the change yet.'
}

nameForm.addEventListener('submit', async event => {
  event.preventDefault()
  if (await look(nameForm.elements.name.value)) status.textContent = 'Resolved. Nothing is redeemed yet.'
})
for (const element of nameForm.elements) element.disabled = false

amountForm.addEventListener('submit', async event => {
  event.preventDefault()
  const { code, message, server_time: since } = await changes('2999-01-01T00:00:00Z')
  if (code !== 200) {
    status.textContent = message
    return
  }
  const { redemption_token, voucher } = resolution
  const answer = await ask('/till/redeem', { redemption_token, amount: amountForm.elements.amount.value })
  if (answer.code !== 200) {
    status.textContent = answer.message
    return
  }
  status.textContent = `Redeemed. ${money(answer)} is left.`
  const listed = await untilListed(since, voucher.id)
  // The token is used: the next redemption needs another token.
  await look(voucher.reference)
  status.textContent = `Redeemed. ${money(answer)} is left, ${listed}`
})
