// The types of `packages/pages/src/site.js`, which all pages share: the bundle imports it from its address.

/** Returns the token of the browser tab, or null. */
export function readToken(): string | null

/** Stores a token, with which all pages of this browser tab sign in. */
export function storeToken(token: string): void

/** Deletes the token of the browser tab after the service has refused it. */
export function forgetToken(): void

/** Returns the token that was typed, without `Bearer`; null when it cannot be one. */
export function parseToken(text: string): string | null

/** Shows whose the token is. @param viewer the name and the expiry, or null for a token that does not expire */
export function describeToken(viewer: { name: string; expiresAt: string | null }): void
