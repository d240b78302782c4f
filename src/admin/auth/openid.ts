// Sign-in through an OpenID provider: authorization code with PKCE, state and nonce.
import type { FastifyReply, FastifyRequest } from 'fastify'
import * as client from 'openid-client'
import { z } from 'zod'
import { refusedSignInChannel } from '../../channels.ts'
import type { Config } from '../../config/config.ts'
import { type OpenIdIdentity, verifyOpenIdAdministrator } from '../../domain/administrator/openid.ts'
import { GatewayError } from '../../domain/errors.ts'
import { Semaphore } from '../../domain/rate/semaphore.ts'
import { fetchBounded } from '../../http/bounded-fetch.ts'
import { clientAddress } from '../../http/client-address.ts'
import { loadOnce } from '../../http/load-once.ts'
import { adminPath } from '../../http/paths.ts'
import { withTraceparent } from '../../tracing.ts'
import type { AdminContext } from '../context.ts'
import { queryParameters } from '../form-body.ts'
import { cookieSettings } from './cookies.ts'
import { type Claims, findRefusal, identityOf } from './openid-claims.ts'
import { parseNext, sendRefresh } from './redirects.tsx'
import { signIn } from './session.ts'

type OpenIdConfig = NonNullable<Config['openId']>

/**
 * The time that a person may take at the provider, and that the provider may take to answer; how far its clock may be
 * from ours, in either direction. In seconds.
 */
const timeouts = { person: 600, provider: 5, skew: 300 }

const maxAnswerBytes = 1_000_000

/** Anyone can start a callback, and each makes the service call the provider. */
const callbacks = new Semaphore({
  maxRunning: 4,
  maxWaiting: 20,
  tooMany: () => new GatewayError('UNAVAILABLE', 'Too many people sign in now. Start again.', { retryAfter: 5 }),
})

/** The content of the cookie that the browser keeps while a person is at the provider. */
const PendingSignIn = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), next: z.string() })
type PendingSignIn = z.infer<typeof PendingSignIn>

const notPending = 'The sign-in took too long, or was started in another browser. Start it again.'

const failures = {
  provider: 'Your organisation did not sign you in. Start again, or ask the people who manage its accounts.',
  stranger: 'Your organisation has signed you in, but you are not allowed to use this page',
  account: 'The account of this e-mail was removed, or belongs to another person. Ask another administrator.',
} as const

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
    if (!pending) throw new GatewayError('FORBIDDEN', notPending)
    // Every callback makes the service call the provider.
    return throttle.fromAddress(actorFor(request, null), async () => {
      const claims = await callbacks.run(() => fetchClaims(request, pending))
      if (!claims) throw await recordedFailure(request, 'provider')
      const identity = identityOf(claims)
      const refusal = findRefusal(openId, claims)
      if (refusal) throw await recordedFailure(request, 'stranger', identity.email, refusal)
      return signInAs(reply, identity, parseNext(pending.next))
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
  ): Promise<Claims | null> {
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
      checkOrigin(claims, provider.serverMetadata().issuer)
      if (provider.serverMetadata().userinfo_endpoint === undefined) return claims
      const userInfo = await client.fetchUserInfo(provider, tokens.access_token, claims.sub)
      const { email, email_verified, xms_edov } = claims.email === undefined ? userInfo : claims
      return { ...userInfo, ...claims, email, email_verified, xms_edov }
    } catch (error) {
      if (!isRejection(error)) throw providerUnavailable(error)
      request.log.info({ reqId: request.id, err: error }, 'sign-in through the OpenID provider failed')
      return null
    }
  }

  async function signInAs(reply: FastifyReply, identity: OpenIdIdentity, next: string) {
    const { request } = reply
    const verified = await verifyOpenIdAdministrator(sql, actorFor(request, identity.name), identity)
    if (!verified || !(await signIn(sql, request, verified, 'openid'))) {
      throw await recordedFailure(request, 'account', identity.name)
    }
    // A redirect would still belong to the navigation of another site, without the strict session cookie.
    return sendRefresh(reply, next)
  }

  /** Records in the audit why a sign-in failed. @param flaws what its claims lack. @returns the error to show */
  async function recordedFailure(
    request: FastifyRequest,
    failure: keyof typeof failures,
    name: string | null = null,
    flaws: string | null = null,
  ): Promise<GatewayError> {
    refusedSignInChannel.publish({ reason: `openid_${failure}` })
    await throttle.recordFailure(actorFor(request, name), `openid: ${flaws ?? failure}`)
    return new GatewayError('FORBIDDEN', flaws === null ? failures[failure] : `${failures[failure]}: ${flaws}.`)
  }

  return { start, finish }
}

const actorFor = (request: FastifyRequest, name: string | null) => ({
  name: name ?? 'no e-mail',
  address: clientAddress(request),
})

/** Reads the provider's metadata (OpenID Connect Discovery). */
function createDiscovery({ issuer, clientId, clientSecret }: OpenIdConfig) {
  const metadata = { client_secret: clientSecret, [client.clockTolerance]: timeouts.skew }
  const options = {
    timeout: timeouts.provider,
    // Forms are the only bodies that are sent to a provider.
    [client.customFetch]: (address: string, { body, signal, ...init }: client.CustomFetchOptions) => {
      const form = body instanceof URLSearchParams ? body : null
      const headers = withTraceparent(init.headers)
      return fetchBounded(maxAnswerBytes, address, { ...init, headers, body: form, signal: signal ?? null })
    },
    execute: [
      client.enableNonRepudiationChecks,
      // The configuration accepts plain http only for this machine.
      ...(issuer.protocol === 'http:' ? [client.allowInsecureRequests] : []),
    ],
  }
  /** Returns the current metadata, with the current keys: an ID token signed with a rotated key is accepted. */
  const fetch = () =>
    client.discovery(issuer, clientId, metadata, undefined, options).catch(error => {
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

/**
 * Checks what openid-client leaves to the caller (OpenID Connect Core §3.1.3.7): that an ID token was issued since the
 * sign-in began, and by the issuer itself. With one address for many organisations, each could name its groups as ours.
 *
 * @throws ClientError
 */
function checkOrigin({ iss, iat, auth_time = iat }: client.IDToken, issuer: string): void {
  const now = Date.now() / 1000
  const isTimely = iat > now - timeouts.person - timeouts.skew && Math.max(iat, auth_time) < now + timeouts.skew
  if (isTimely && iss === issuer) return
  const error = new client.ClientError('The ID token was not issued during the sign-in, or not by OIDC_ISSUER.')
  throw Object.assign(error, { code: 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' })
}
