import { Command } from 'commander'
import { type Config, readConfig } from '../config/config.ts'
import { type PublicKey, readKeySet, toKeySet } from '../domain/record/signing-key.ts'
import { toJsonLine } from '../json-line.ts'
import { withDatabase } from './database/database.ts'
import { jsonOption, printTable, readId, withoutControls } from './terminal/output.ts'

type Jose = typeof import('jose')

/** The result of a check of a token. */
interface Explanation {
  /** The problems, one sentence each; none when a redemption has to accept the token. */
  problems: string[]
  /** Null when the text is not a JWT. When the signature is not valid, anyone may have written the claims. */
  claims: Record<string, unknown> | null
}

/** Returns the claims of a JWT and the id of its key; null for any other text. */
function decode({ decodeJwt, decodeProtectedHeader }: Jose, token: string) {
  try {
    return { claims: { ...decodeJwt(token) }, kid: String(decodeProtectedHeader(token).kid) }
  } catch {
    return null
  }
}

/** Returns a sentence about the problem with a token's signature, or null when the signature is valid. */
async function explainSignature(
  { jwtVerify, createLocalJWKSet, errors }: Jose,
  token: string,
  kid: string,
  keys: readonly PublicKey[],
): Promise<string | null> {
  if (!keys.some(key => key.kid === kid))
    return `The key ${kid} is not published: another service has signed the token, or the key has left.`
  try {
    // `explain` checks the expiry, so this check is given a time before any expiry.
    await jwtVerify(token, createLocalJWKSet({ keys: [...keys] }), { algorithms: ['ES256'], currentDate: new Date(0) })
  } catch (error) {
    if (error instanceof errors.JOSEAlgNotAllowed) return 'It is not signed with ES256.'
    if (error instanceof errors.JWSSignatureVerificationFailed) return 'The signature is wrong: the token was changed.'
    if (error instanceof errors.JOSEError) return `Libraries refuse it: ${error.message}.`
    throw error
  }
  return null
}

/**
 * Explains a token by the checks that a redemption has to make.
 *
 * @param tenantId the tenant of the till; undefined to allow any tenant
 */
async function explain(
  token: string,
  keys: readonly PublicKey[],
  { issuer, audience }: Config['redemption'],
  tenantId: number | undefined,
): Promise<Explanation> {
  // Imported here, because other commands do not need this module.
  const jose = await import('jose')
  const decoded = decode(jose, token)
  if (!decoded) return { problems: ['It is no JWT: three parts in base64url, separated by points.'], claims: null }
  const { claims, kid } = decoded
  const { iss, aud, exp, tenant_id: tenant } = claims
  const signature = await explainSignature(jose, token, kid, keys)
  const problems = [
    ...(signature === null ? [] : [signature]),
    ...(iss === issuer ? [] : [`The issuer is ${claimToText(iss)}, and not ${issuer} (PUBLIC_URL).`]),
    ...(aud === audience ? [] : [`The audience is ${claimToText(aud)}, and not ${audience} (REDEMPTION_AUDIENCE).`]),
    ...(claimToTime(exp) > new Date() ? [] : [`It has expired at ${claimToTimeText(exp)}. Resolve the voucher again.`]),
    ...(tenantId === undefined || tenant === tenantId
      ? []
      : [`It is for the tenant ${claimToText(tenant)}, and not ${tenantId}.`]),
  ]
  return { problems: problems.map(withoutControls), claims }
}

/**
 * Returns a claim as text. Does not call `toString`, because anyone may have written the token, and a claim may be an
 * object with its own `toString`.
 */
const claimToText = (claim: unknown) => (typeof claim === 'string' ? claim : (JSON.stringify(claim) ?? 'missing'))

/** Returns the time of a claim in seconds since 1970. */
const claimToTime = (claim: unknown) => new Date(typeof claim === 'number' ? 1000 * claim : Number.NaN)

const claimToTimeText = (claim: unknown) => {
  const time = claimToTime(claim)
  return Number.isNaN(time.getTime()) ? 'no time' : time.toISOString().slice(0, 19)
}

const checkCommand = new Command('check')
  .description('Explain a redemption token: its claims, and the reasons why a redemption would refuse it.')
  .argument('<token>', 'the token')
  .option('--tenant <id>', 'the tenant of the till', readId)
  .addOption(jsonOption())
  .action(async (token: string, { tenant, json }: { tenant?: number; json: boolean }) => {
    const config = readConfig(process.env)
    const { keys } = config.redemption
    const { published } = keys ? toKeySet(keys) : await withDatabase(({ pool }) => readKeySet(pool), config)
    const { problems, claims } = await explain(token, published, config.redemption, tenant)
    if (problems.length > 0) process.exitCode = 1
    if (json) return console.log(toJsonLine({ valid: problems.length === 0, problems, claims }))
    if (claims) {
      const times = ['iat', 'exp']
      const shown = (name: string, value: unknown) =>
        withoutControls(times.includes(name) ? claimToTimeText(value) : claimToText(value))
      printTable(
        Object.entries(claims).map(([claim, value]) => ({ claim: withoutControls(claim), value: shown(claim, value) })),
      )
    }
    console.log(
      problems.length === 0 ? '\nThe token is valid. A redemption accepts its jti once.' : `\n${problems.join('\n')}`,
    )
  })

export const redemptionTokenCommand = new Command('redemption-token')
  .description('Explain redemption tokens.')
  .addCommand(checkCommand)
