// The types of `packages/pages/src/site.js`, a script that all pages share. The bundle imports the script from its URL.

/** Returns the token of the browser tab, or null. */
export function readToken(): string | null

/** Stores a token, with which all pages of this browser tab sign in. */
export function storeToken(token: string): void

/** Deletes the token of the browser tab after the service has refused it. */
export function forgetToken(): void

/** Returns the typed token without `Bearer`; null when the text cannot be a token. */
export function parseToken(text: string): string | null

/**
 * Shows the name and the expiry of the token in the header.
 *
 * @param viewer the name and the expiry, or null for a token that does not expire
 */
export function describeToken(viewer: { name: string; expiresAt: string | null }): void
