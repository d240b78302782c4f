import type { FieldErrors } from './errors.ts'
import { permissionNames } from './permission.ts'
import type { TenantGrant, TokenRecord } from './token.ts'

/** What an administrator decides about a token. */
export type TokenInput = Pick<TokenRecord, 'name' | 'contact' | 'permissions' | 'rateLimit'> & {
  tenants: TenantGrant[]
}

const maxText = 200
const maxRateLimit = 1_000_000

/** @returns what is wrong with the `name`, `contact` and `rateLimit` that an administrator wants; empty: nothing */
export function checkTokenInput(wanted: TokenInput): FieldErrors {
  const fieldErrors: FieldErrors = {}
  const { name, contact, rateLimit } = normalizeTokenInput(wanted)
  if (name === '' || name.length > maxText) fieldErrors.name = [`Give the token a name of 1 to ${maxText} characters.`]
  if (contact !== null && contact.length > maxText) fieldErrors.contact = [`Give at most ${maxText} characters.`]
  if (rateLimit !== null && !(Number.isInteger(rateLimit) && rateLimit >= 1 && rateLimit <= maxRateLimit)) {
    fieldErrors.rateLimit = [`Give a whole number from 1 to ${maxRateLimit.toLocaleString('en')}.`]
  }
  return fieldErrors
}

/** @returns the same input, with blanks cut, and each tenant and permission named once. */
export function normalizeTokenInput(wanted: TokenInput): TokenInput {
  const grants = new Map<number, boolean>()
  for (const { tenantId, withDescendants } of wanted.tenants) {
    grants.set(tenantId, withDescendants || (grants.get(tenantId) ?? false))
  }
  return {
    name: wanted.name.trim(),
    contact: wanted.contact?.trim() || null,
    rateLimit: wanted.rateLimit,
    permissions: permissionNames.filter(name => wanted.permissions.includes(name)),
    tenants: [...grants]
      .map(([tenantId, withDescendants]) => ({ tenantId, withDescendants }))
      .sort((one, other) => one.tenantId - other.tenantId),
  }
}
