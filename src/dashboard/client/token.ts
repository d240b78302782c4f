// The token, in the session storage of the tab: it ends with the tab, and no other tab and no address has it.

/** Its key; `assets/open-dashboard.js` of the API access page writes it too. */
const key = 'voucher-gateway.dashboard-token'

/** Returns the token of the tab, or null. */
export function readToken(): string | null {
  try {
    return sessionStorage.getItem(key)
  } catch {
    return null
  }
}

/** Keeps a token for the tab. A browser without storage keeps it until the page is left. */
export function storeToken(token: string): void {
  try {
    sessionStorage.setItem(key, token)
  } catch {}
}

/** Forgets the token of the tab. */
export function forgetToken(): void {
  try {
    sessionStorage.removeItem(key)
  } catch {}
}

/** Returns the token that was typed, without `Bearer`; null when it cannot be one. */
export function parseToken(text: string): string | null {
  const token = text.trim().replace(/^Bearer\s+/i, '')
  return /^[\x21-\x7e]+$/.test(token) ? token : null
}
