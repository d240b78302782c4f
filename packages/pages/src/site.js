// One sign-in for all pages: the token of this browser tab, and its display in the header.

/** Ends with the browser tab, so that no other tab and no address has the token. */
const storage = openStorage()
/** True when the token is kept after the page is left. */
export const isKept = storage instanceof Storage
const tokenKey = 'voucher-gateway:token'
const descriptionKey = 'voucher-gateway:token-description'
/** Set when a person signed out of the demo, so that a page does not sign in automatically again. */
const signedOutKey = 'voucher-gateway:signed-out'

const header = document.querySelector('.site-header')
const account = document.getElementById('account')
const demoToken = header?.dataset.demo === undefined ? null : await fetchDemoToken()

if (demoToken !== null && readToken() === null && storage.getItem(signedOutKey) === null) storeDemoToken()
else draw()

/** A browser that refuses to store keeps the token until the page is left. */
function openStorage() {
  try {
    return sessionStorage
  } catch {
    const kept = new Map()
    return {
      getItem: key => kept.get(key) ?? null,
      setItem: (key, value) => kept.set(key, value),
      removeItem: key => kept.delete(key),
    }
  }
}

/** Returns the token of the demo, which a browser on its machine gets; otherwise null. */
async function fetchDemoToken() {
  try {
    const response = await fetch('/demo-token')
    return (await response.json()).token
  } catch {
    return null
  }
}

/** Returns the token of the tab, or null. */
export function readToken() {
  return storage.getItem(tokenKey)
}

/** Stores a token, with which all pages of this browser tab sign in. */
export function storeToken(token) {
  storage.setItem(tokenKey, token)
  storage.removeItem(descriptionKey)
  storage.removeItem(signedOutKey)
  draw()
}

/** Returns the token that was typed, without `Bearer` and invisible characters; null when it cannot be one. */
export function parseToken(text) {
  const token = text
    .replace(/\p{Cf}/gu, '')
    .trim()
    .replace(/^Bearer\s+/i, '')
  return /^[\x21-\x7e]+$/.test(token) ? token : null
}

/** Shows whose the token is. @param viewer the name and the expiry, or null for a token that does not expire */
export function describeToken({ name, expiresAt }) {
  storage.setItem(descriptionKey, JSON.stringify({ name, expiresAt }))
  draw()
}

/** Deletes the token of the browser tab after the service has refused it. */
export function forgetToken() {
  storage.removeItem(tokenKey)
  storage.removeItem(descriptionKey)
  draw()
}

function forgetSignIn() {
  forgetToken()
  if (demoToken !== null) storage.setItem(signedOutKey, 'yes')
}

/** Signs out of all pages, and ends an administrator's session. */
async function signOut() {
  forgetSignIn()
  await fetch('/admin/session', { method: 'DELETE' }).catch(() => {})
  location.reload()
}

function draw() {
  if (!account) return
  if (readToken() !== null) account.replaceChildren(...signedIn())
  else if (demoToken !== null) account.replaceChildren(button('Use the demo token', useDemoToken))
  else if (account.dataset.signIn === undefined) account.replaceChildren()
  else account.replaceChildren(create('a', { href: account.dataset.signIn, textContent: 'Sign in' }))
}

function storeDemoToken() {
  storeToken(demoToken)
  describeToken({ name: 'Demo', expiresAt: null })
}

function useDemoToken() {
  storeDemoToken()
  location.reload()
}

function signedIn() {
  const { name, expiresAt } = JSON.parse(storage.getItem(descriptionKey)) ?? { name: 'Signed in', expiresAt: null }
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
  const textContent = expiresAt === null ? name : `${name}, until ${format.format(new Date(expiresAt))}`
  return [create('span', { textContent }), button('Sign out', signOut)]
}

/** Creates an element with these properties. */
function create(name, properties) {
  return Object.assign(document.createElement(name), properties)
}

function button(textContent, onclick) {
  return create('button', { type: 'button', textContent, onclick })
}

// The forms of the API access page: signing in and out there holds for all pages.
addEventListener('submit', ({ target }) => {
  if (target.matches('[data-sign-out]')) forgetSignIn()
  if (target.matches('[data-sign-in]')) storage.removeItem(signedOutKey)
})
