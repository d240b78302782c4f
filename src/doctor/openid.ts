/** Tests whether sign-ins through the OpenID provider can succeed, without a sign-in. */
import * as client from 'openid-client'
import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { fetchBounded } from '../openid/bounded-fetch.ts'
import { discoverProvider } from '../openid/provider.ts'
import { type Reason, reason } from '../reasons.ts'

/**
 * Returns the reasons why sign-ins through the provider fail. The list is empty when no reason was found, or when no
 * provider is configured.
 *
 * @param callbackPath the path to which the provider sends a browser back
 */
export async function checkOpenId(
  { openId, publicUrl }: Pick<Config, 'openId' | 'publicUrl'>,
  callbackPath: string,
): Promise<Reason[]> {
  if (openId === undefined) return []
  const { href: issuer } = openId.issuer
  try {
    const found = await findProblem(await discoverProvider(openId), `${publicUrl}${callbackPath}`)
    return found === null ? [] : [reason('OPENID_REFUSES', { issuer, problem: found[0], advice: found[1] })]
  } catch (error) {
    return [reason('OPENID_UNREACHABLE', { issuer, error: describeError(error) })]
  }
}

const ErrorCause = z.union([
  z.instanceof(Response).transform(({ status }) => `status ${status}`),
  z.object({ code: z.string() }).transform(({ code }) => code),
  z
    .object({ body: z.object({ issuer: z.string() }) })
    .transform(({ body }) => `it says that its issuer is ${body.issuer}`),
])

const describeError = (error: unknown) =>
  error instanceof Error ? (ErrorCause.safeParse(error.cause).data ?? error.message) : String(error)

const fetchWithoutRedirects = (address: string) =>
  fetchBounded(1_000_000, address, { redirect: 'manual', signal: AbortSignal.timeout(5_000) })

const PublishedKeys = z.object({ keys: z.array(z.object({ kty: z.string() })) })

/** Returns the first problem and its remedy, or null. */
async function findProblem(
  provider: client.Configuration,
  redirect_uri: string,
): Promise<[problem: string, advice: string] | null> {
  const { issuer, jwks_uri = '', id_token_signing_alg_values_supported: algorithms } = provider.serverMetadata()
  if (issuer.includes('{'))
    return ['its issuer is the issuer of many organisations', 'Set OIDC_ISSUER to the issuer of yours.']
  const { data } = PublishedKeys.safeParse(await fetchWithoutRedirects(jwks_uri).then(answer => answer.json()))
  if (!data?.keys.some(({ kty }) => kty !== 'oct') || algorithms?.every(name => /^(HS|none)/.test(name))) {
    return ['it signs no ID tokens with a published key', 'Let it sign them, for example with RS256.']
  }
  // Sends an invalid code. A provider that knows the client refuses the code, and any other provider refuses the
  // client.
  const grant = { code: client.randomState(), redirect_uri, code_verifier: client.randomPKCECodeVerifier() }
  const refusal: unknown = await client.genericGrantRequest(provider, 'authorization_code', grant).catch(error => error)
  const isOfClient = refusal instanceof client.ResponseBodyError && refusal.error.endsWith('_client')
  if (isOfClient || refusal instanceof client.WWWAuthenticateChallengeError) {
    return ['it refuses the client', 'Correct OIDC_CLIENT_ID and OIDC_CLIENT_SECRET.']
  }
  // A provider that knows the callback address redirects to this address, because no session exists.
  const { href } = client.buildAuthorizationUrl(provider, {
    ...{
      redirect_uri,
      prompt: 'none',
      scope: 'openid email',
      state: client.randomState(),
      nonce: client.randomNonce(),
    },
    ...{ code_challenge: await client.calculatePKCECodeChallenge(grant.code_verifier), code_challenge_method: 'S256' },
  })
  const { status } = await fetchWithoutRedirects(href)
  if (status < 400 || status >= 500) return null
  return [`it refuses the redirect address ${redirect_uri} (status ${status})`, 'Register that address there.']
}
