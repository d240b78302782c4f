// Sign-in through an OpenID provider: authorization code with PKCE, state and nonce.
import type { FastifyReply, FastifyRequest } from 'fastify'
import * as client from 'openid-client'
import { z } from 'zod'
import type { Config } from '../../config.ts'
import { parseEmail } from '../../domain/administrator/administrator.ts'
import { type OpenIdIdentity, verifyOpenIdAdministrator } from '../../domain/administrator/openid.ts'
import { GatewayError } from '../../domain/errors.ts'
import { clientAddress } from '../../http/client-address.ts'
import { loadOnce } from '../../http/load-once.ts'
import { adminPath } from '../../http/paths.ts'
import type { AdminContext } from '../context.ts'
import { queryParameters } from '../form-body.ts'
import { cookieSettings } from './cookies.ts'
import { parseNext, sendRefresh } from './redirects.tsx'
import { signIn } from './session.ts'

type OpenIdConfig = NonNullable<Config['openId']>

/** The time that a person may take at the provider, and that the provider may take to answer, in seconds. */
const timeouts = { person: 600, provider: 5 }

/** The content of the cookie that the browser keeps while a person is at the provider. */
const PendingSignIn = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), next: z.string() })
type PendingSignIn = z.infer<typeof PendingSignIn>

const Claims = z.object({
  iss: z.string(),
  sub: z.string(),
  email: z.string().optional().catch(undefined),
  email_verified: z.boolean().optional().catch(undefined),
})

// The words are the reasons in the audit.
const failures = {
  journey: 'The sign-in took too long, or was started in another browser. Start it again.',
  provider: 'Your organisation did not sign you in. Start again, or ask the people who manage its accounts.',
  stranger: 'Your organisation has signed you in, but you are not allowed to use this page.',
  email: 'Your organisation has signed you in, but has not verified your e-mail, which this page needs.',
  account: 'The account of this e-mail was removed, or belongs to another person. Ask another administrator.',
} as const

const failure = (reason: keyof typeof failures) => new GatewayError('FORBIDDEN', failures[reason])

const providerUnavailable = (cause: unknown) =>
  new GatewayError(
    'UNAVAILABLE',
    'The sign-in of your organisation is not available. Try again in a moment, or sign in with a password.',
    { retryAfter: 30, cause },
  )

/** Returns the handlers of the redirect to the OpenID provider, and of the callback from it. */
export function createOpenIdHandlers({ sql, config, throttle }: AdminContext, openId: OpenIdConfig) {
  const discovery = createDiscovery(openId)
  // The cookie is not strict, because the browser comes back from another site and must send it.
  const { name, options } = cookieSettings(config, 'openid', 'lax')
  const redirectUri = (request: FastifyRequest) => `${request.publicOrigin}${adminPath}/login/callback`

  async function start(request: FastifyRequest, reply: FastifyReply) {
    const provider = await discovery.cached()
    const pending: PendingSignIn = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      next: parseNext(queryParameters(request).get('next')),
    }
    const supported = provider.serverMetadata().scopes_supported ?? []
    const target = client.buildAuthorizationUrl(provider, {
      redirect_uri: redirectUri(request),
      scope: ['openid', 'email', ...(supported.includes('groups') ? ['groups'] : [])].join(' '),
      state: pending.state,
      nonce: pending.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(pending.verifier),
      code_challenge_method: 'S256',
    })
    const cookie = Buffer.from(JSON.stringify(pending)).toString('base64url')
    return reply.setCookie(name, cookie, { ...options, maxAge: timeouts.person }).redirect(target.href, 303)
  }

  async function finish(request: FastifyRequest, reply: FastifyReply) {
    reply.clearCookie(name, options)
    const pending = readPending(request.cookies[name])
    if (!pending) throw failure('journey')
    // Every callback makes the service call the provider.
    return throttle.fromAddress(actorFor(request, null), async () => {
      const claims = await fetchClaims(request, pending)
      if (!claims) throw await recordedFailure(request, 'provider')
      const { iss, sub, email: claimed, email_verified: isVerified } = Claims.parse(claims)
      const email = isVerified === true && claimed !== undefined ? parseEmail(claimed) : null
      if (!isAllowed(openId, email, claims[openId.groupsClaim])) throw await recordedFailure(request, 'stranger', email)
      return signInAs(reply, { subject: `${iss} ${sub}`, email }, parseNext(pending.next))
    })
  }

  /**
   * Returns the claims of the ID token, and of the user info where the provider has it; the e-mail and its verification
   * come from the same one. Null when the provider rejects the sign-in, or its answer is not valid.
   * @throws `UNAVAILABLE` when the provider does not answer
   */
  async function fetchClaims(
    request: FastifyRequest,
    { state, nonce, verifier }: PendingSignIn,
  ): Promise<Record<string, unknown> | null> {
    const provider = await discovery.fetch()
    try {
      const tokens = await client.authorizationCodeGrant(provider, new URL(request.url, request.publicOrigin), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (!claims) throw new Error('The token response has no ID token.')
      if (provider.serverMetadata().userinfo_endpoint === undefined) return claims
      const userInfo = await client.fetchUserInfo(provider, tokens.access_token, claims.sub)
      const { email, email_verified } = claims.email === undefined ? userInfo : claims
      return { ...userInfo, ...claims, email, email_verified }
    } catch (error) {
      if (!isRejection(error)) throw providerUnavailable(error)
      request.log.info({ reqId: request.id, err: error }, 'sign-in through the OpenID provider failed')
      return null
    }
  }

  async function signInAs(reply: FastifyReply, identity: OpenIdIdentity, next: string) {
    const { request } = reply
    const { email } = identity
    const verified = await verifyOpenIdAdministrator(sql, actorFor(request, email), identity)
    if (!verified) throw await recordedFailure(request, email === null ? 'email' : 'account', email)
    if (!(await signIn(sql, request, verified, 'openid'))) throw await recordedFailure(request, 'account', email)
    // A redirect would still belong to the navigation of another site, without the strict session cookie.
    return sendRefresh(reply, next)
  }

  /** Records in the audit that a sign-in through the provider failed. */
  async function recordedFailure(
    request: FastifyRequest,
    reason: keyof typeof failures,
    email: string | null = null,
  ): Promise<GatewayError> {
    await throttle.recordFailure(actorFor(request, email), `openid: ${reason}`)
    return failure(reason)
  }

  return { start, finish }
}

const actorFor = (request: FastifyRequest, email: string | null) => ({
  name: email ?? 'no e-mail',
  address: clientAddress(request),
})

/** Reads the provider's metadata (OpenID Connect Discovery). */
function createDiscovery({ issuer, clientId, clientSecret }: OpenIdConfig) {
  const url = new URL(issuer)
  const options = {
    timeout: timeouts.provider,
    execute: [
      client.enableNonRepudiationChecks,
      // The configuration accepts plain http only for this machine.
      ...(url.protocol === 'http:' ? [client.allowInsecureRequests] : []),
    ],
  }
  /** Returns the current metadata, with the current keys: an ID token signed with a rotated key is accepted. */
  const fetch = () =>
    client.discovery(url, clientId, clientSecret, undefined, options).catch(error => {
      throw providerUnavailable(error)
    })
  return {
    /** Returns the metadata of the first fetch: enough to redirect a browser to the provider. */
    cached: loadOnce(fetch),
    fetch,
  }
}

function readPending(cookie: string | undefined): PendingSignIn | null {
  if (cookie === undefined) return null
  try {
    return PendingSignIn.parse(JSON.parse(Buffer.from(cookie, 'base64url').toString()))
  } catch {
    return null
  }
}

/** Codes of openid-client: the response is not signed, dated or addressed as an ID token for the service must be. */
const rejectionCodes = [
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_PARSE_ERROR',
  'OAUTH_UNSUPPORTED_OPERATION',
]

/** Returns whether the provider rejected the sign-in, or its response is invalid; otherwise it did not answer. */
const isRejection = (error: unknown) =>
  error instanceof client.AuthorizationResponseError ||
  (error instanceof client.ResponseBodyError && error.error === 'invalid_grant') ||
  (error instanceof client.ClientError && error.code !== undefined && rejectionCodes.includes(error.code))

/** @param groups the claim that lists the groups of the person: one or several */
function isAllowed(openId: OpenIdConfig, email: string | null, groups: unknown): boolean {
  const domain = email?.slice(email.lastIndexOf('@') + 1)
  if (domain !== undefined && openId.domains.includes(domain)) return true
  return [groups].flat().some(group => typeof group === 'string' && openId.groups.includes(group))
}
