import type { FieldErrors } from '../errors.ts'
import { trimInvisible } from '../trimmed.ts'
import { permissionNames } from './permission.ts'
import type { TenantGrant, TokenRecord } from './token.ts'

/** The properties of a token that an administrator chooses. */
export type TokenInput = Pick<TokenRecord, 'name' | 'contact' | 'permissions' | 'rateLimit'> & {
  tenants: TenantGrant[]
}

const maxTextLength = 200
const maxRateLimit = 1_000_000

/** Returns the errors of `name`, `contact` and `rateLimit`. */
export function checkTokenInput(input: TokenInput): FieldErrors {
  const fieldErrors: FieldErrors = {}
  const { name, contact, rateLimit } = normalizeTokenInput(input)
  if (name === '' || [...name].length > maxTextLength)
    fieldErrors.name = [`Give the token a name of 1 to ${maxTextLength} characters.`]
  if (contact !== null && [...contact].length > maxTextLength)
    fieldErrors.contact = [`Give at most ${maxTextLength} characters.`]
  if (rateLimit !== null && !(Number.isInteger(rateLimit) && rateLimit >= 1 && rateLimit <= maxRateLimit)) {
    fieldErrors.rateLimit = [`Give a whole number from 1 to ${maxRateLimit.toLocaleString('en')}.`]
  }
  return fieldErrors
}

/** Returns the input with trimmed texts. The tenants and the permissions have no duplicates, and a fixed order. */
export function normalizeTokenInput(input: TokenInput): TokenInput {
  const grants = new Map<number, boolean>()
  for (const { tenantId, withDescendants } of input.tenants) {
    grants.set(tenantId, withDescendants || (grants.get(tenantId) ?? false))
  }
  return {
    name: trimInvisible(input.name),
    contact: trimInvisible(input.contact ?? '') || null,
    rateLimit: input.rateLimit,
    permissions: permissionNames.filter(name => input.permissions.includes(name)),
    tenants: [...grants]
      .map(([tenantId, withDescendants]) => ({ tenantId, withDescendants }))
      .sort((a, b) => a.tenantId - b.tenantId),
  }
}
