// Decides from the claims of an OpenID provider who may sign in.
import type { Config } from '../../config/config.ts'
import { parseEmail } from '../../domain/administrator/administrator.ts'
import type { OpenIdIdentity } from '../../domain/administrator/openid.ts'

type SignInConditions = Pick<NonNullable<Config['openId']>, 'domains' | 'groups' | 'groupsClaim'>

/** The claims of an ID token and of the user info. Only `iss` and `sub` are validated. */
export type Claims = Readonly<Record<string, unknown>> & { readonly iss: string; readonly sub: string }

/** The values of the claim by which providers say that an e-mail is verified. */
const verifiedValues: readonly unknown[] = [true, 'true', 1, '1']

/**
 * Reads the e-mail of the claims.
 *
 * @returns the e-mail, or null when the provider has not verified it; and `flaw`, the reason why the domain of the
 *   e-mail does not allow a sign-in
 */
function readEmail({ email, email_verified, xms_edov }: Claims): { email: string | null; flaw: string } {
  const flawOf = (claim: string, flaw: string) => ({ email: null, flaw: `the claim ${claim} ${flaw}` })
  if (email === undefined) return flawOf('email', 'is missing')
  // Microsoft Entra sends `xms_edov` instead of `email_verified`: this claim says that the domain of the e-mail is
  // verified.
  const verified = email_verified ?? xms_edov
  if (verified === undefined) return flawOf('email_verified', 'is missing')
  if (!verifiedValues.includes(verified)) {
    return flawOf(email_verified === undefined ? 'xms_edov' : 'email_verified', 'is not true')
  }
  return { email: typeof email === 'string' ? parseEmail(email) : null, flaw: 'the claim email has no allowed domain' }
}

/**
 * Returns the identity in the claims. An e-mail that is not verified is ignored, because anyone may have chosen it. The
 * name is then the subject at a domain that cannot exist (RFC 2606 §2).
 */
export function identityOf(claims: Claims): OpenIdIdentity {
  const { iss, sub } = claims
  const { email } = readEmail(claims)
  const name = email ?? parseEmail(`${sub.replaceAll('@', '%40')}@${new URL(iss).hostname}.invalid`)
  return { subject: `${iss} ${sub}`, email, name }
}

/**
 * Returns the missing and wrong claims that prevent a sign-in, or null when the claims allow it. A group that is
 * allowed is enough for a sign-in. An e-mail with an allowed domain must also be verified.
 */
export function findRefusal({ domains, groups, groupsClaim }: SignInConditions, claims: Claims): string | null {
  const given = claims[groupsClaim]
  if ([given].flat().some(group => typeof group === 'string' && groups.includes(group))) return null
  const { email, flaw } = readEmail(claims)
  if (email !== null && domains.includes(email.slice(email.lastIndexOf('@') + 1))) return null
  const flaws = domains.length > 0 ? [flaw] : []
  if (groups.length > 0)
    flaws.push(
      `the claim ${groupsClaim} ${given === undefined ? describeMissingClaim(claims, groupsClaim) : 'has no allowed group'}`,
    )
  return flaws.join(', and ')
}

/**
 * Describes a missing claim. When a person is in more than 200 groups, Entra sends a link to the groups instead of the
 * groups.
 */
const describeMissingClaim = ({ _claim_names: elsewhere }: Claims, claim: string) =>
  typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, claim)
    ? 'is left out, because it has too many values (_claim_names): configure the provider to send only the groups assigned to this application'
    : 'is missing'
