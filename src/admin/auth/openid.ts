// Sign-in through an OpenID provider: authorization code with PKCE, state and nonce.
import type { FastifyReply, FastifyRequest } from 'fastify'
import * as client from 'openid-client'
import { z } from 'zod'
import { loadOnce } from '../../async/load-once.ts'
import { refusedSignInChannel } from '../../channels.ts'
import type { Config } from '../../config/config.ts'
import { type OpenIdIdentity, verifyOpenIdAdministrator } from '../../domain/administrator/openid.ts'
import { GatewayError } from '../../domain/errors.ts'
import { Semaphore } from '../../domain/rate/semaphore.ts'
import { clientAddress } from '../../http/client-address.ts'
import { openIdCallbackPath } from '../../http/paths.ts'
import { clockSkew, discoverProvider, failureKindOf, toProviderError } from '../../openid/provider.ts'
import type { AdminContext } from '../context.ts'
import { queryParameters } from '../form-body.ts'
import { type Claims, findRefusal, identityOf } from './openid-claims.ts'
import { parseNext, sendRefresh } from './redirects.tsx'
import { cookieSettings, signIn } from './session.ts'

type OpenIdConfig = NonNullable<Config['openId']>

/** The maximum time from the redirect to the provider until the callback, in seconds. */
const personTimeout = 600

/**
 * The limit of callbacks, needed because anyone can send a callback, and each callback makes the service call the
 * provider.
 */
const callbackLimit = new Semaphore({
  maxRunning: 4,
  maxWaiting: 20,
  tooMany: () => new GatewayError('UNAVAILABLE', 'Too many people sign in now. Start again.', { retryAfter: 5 }),
})

/** The content of the cookie that the browser keeps from the redirect to the provider until the callback. */
const PendingSignIn = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), next: z.string() })
type PendingSignIn = z.infer<typeof PendingSignIn>

const noPendingSignIn = 'The sign-in took too long, or was started in another browser. Start it again.'

const failureMessages = {
  provider: 'Your organisation did not sign you in. Start again, or ask the people who manage its accounts.',
  stranger: 'Your organisation has signed you in, but you are not allowed to use this page',
  account: 'The account of this e-mail was removed, or belongs to another person. Ask another administrator.',
} as const

/** Returns the handlers of the redirect to the OpenID provider, and of the callback from it. */
export function createOpenIdHandlers({ sql, config, throttle }: AdminContext, openId: OpenIdConfig) {
  const fetchProvider = () =>
    discoverProvider(openId).catch(error => {
      throw toProviderError(error)
    })
  // The redirect uses the metadata of the first fetch, because fresh metadata is needed only for the callback.
  const cachedProvider = loadOnce(fetchProvider)
  // The cookie is not strict, because the browser must send it when the provider, another site, redirects back.
  const { name, options } = cookieSettings(config, 'openid', 'lax')
  const redirectUri = (request: FastifyRequest) => `${request.publicOrigin}${openIdCallbackPath}`

  async function start(request: FastifyRequest, reply: FastifyReply) {
    const provider = await cachedProvider()
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
    return reply.setCookie(name, cookie, { ...options, maxAge: personTimeout }).redirect(target.href, 303)
  }

  async function finish(request: FastifyRequest, reply: FastifyReply) {
    reply.clearCookie(name, options)
    const pending = readPending(request.cookies[name])
    if (!pending) throw new GatewayError('FORBIDDEN', noPendingSignIn)
    // Every callback makes the service call the provider.
    await throttle.fromAddress(actorFor(request, null), async () => {
      const claims = await callbackLimit.run(() => fetchClaims(request, pending))
      if (!claims) throw await recordedFailure(request, 'provider')
      const identity = identityOf(claims)
      const refusal = findRefusal(openId, claims)
      if (refusal) throw await recordedFailure(request, 'stranger', identity.email, refusal)
      await signInAs(request, identity)
    })
    // Not a redirect: it would continue the navigation that another site began, so the browser would not send the
    // strict session cookie.
    return sendRefresh(reply, parseNext(pending.next))
  }

  /**
   * Returns the claims of the ID token, completed from the user info; null when the provider rejects the sign-in, or
   * when its answer is not valid. The e-mail and its verification come from the same source.
   * @throws the error of `toProviderError`
   */
  async function fetchClaims(
    request: FastifyRequest,
    { state, nonce, verifier }: PendingSignIn,
  ): Promise<Claims | null> {
    const provider = await fetchProvider()
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
      const isAllowed = findRefusal(openId, claims) === null
      const isComplete = isAllowed && identityOf(claims).email !== null
      if (isComplete || provider.serverMetadata().userinfo_endpoint === undefined) return claims
      const userInfo: Partial<client.UserInfoResponse> = await client
        .fetchUserInfo(provider, tokens.access_token, claims.sub)
        .catch(error => {
          // Some providers refuse the user info. Then the service uses the ID token alone; if claims are missing in it,
          // the error names these claims.
          const kind = failureKindOf(error)
          if (kind === 'invalid' || (kind === 'temporary' && !isAllowed)) throw error
          request.log.info({ reqId: request.id, err: error }, 'the OpenID provider refused the user info')
          return {}
        })
      // When the ID token does not say whether its e-mail is verified, the user info may say so.
      const hasVerification = claims.email_verified !== undefined || claims.xms_edov !== undefined
      const isOfUserInfo = claims.email === undefined || (!hasVerification && claims.email === userInfo.email)
      const { email, email_verified, xms_edov } = isOfUserInfo ? userInfo : claims
      return { ...userInfo, ...claims, email, email_verified, xms_edov }
    } catch (error) {
      if (failureKindOf(error) !== 'invalid') throw toProviderError(error)
      request.log.info({ reqId: request.id, err: error }, 'sign-in through the OpenID provider failed')
      return null
    }
  }

  async function signInAs(request: FastifyRequest, identity: OpenIdIdentity): Promise<void> {
    const verified = await verifyOpenIdAdministrator(sql, actorFor(request, identity.name), identity)
    if (!verified || !(await signIn(sql, request, verified, 'openid'))) {
      throw await recordedFailure(request, 'account', identity.name)
    }
  }

  /**
   * Records in the audit why a sign-in failed.
   *
   * @param flaws the missing and wrong claims; null when the claims are not the reason
   * @returns the error to show
   */
  async function recordedFailure(
    request: FastifyRequest,
    failure: keyof typeof failureMessages,
    name: string | null = null,
    flaws: string | null = null,
  ): Promise<GatewayError> {
    refusedSignInChannel.publish({ reason: `openid_${failure}` })
    await throttle.recordFailure(actorFor(request, name), `openid: ${flaws ?? failure}`)
    return new GatewayError(
      'FORBIDDEN',
      flaws === null ? failureMessages[failure] : `${failureMessages[failure]}: ${flaws}.`,
    )
  }

  return { start, finish }
}

const actorFor = (request: FastifyRequest, name: string | null) => ({
  name: name ?? 'no e-mail',
  address: clientAddress(request),
})

function readPending(cookie: string | undefined): PendingSignIn | null {
  if (cookie === undefined) return null
  try {
    return PendingSignIn.parse(JSON.parse(Buffer.from(cookie, 'base64url').toString()))
  } catch {
    return null
  }
}

/**
 * Makes two checks of an ID token that openid-client leaves to the caller (OpenID Connect Core §3.1.3.7): that it was
 * issued after the sign-in began, and that its issuer is the configured issuer. When many organisations share one
 * address of a provider, another organisation could otherwise use the names of our groups.
 *
 * @throws ClientError
 */
function checkOrigin({ iss, iat, auth_time = iat }: client.IDToken, issuer: string): void {
  const now = Date.now() / 1000
  const isTimely = iat > now - personTimeout - clockSkew && Math.max(iat, auth_time) < now + clockSkew
  if (isTimely && iss === issuer) return
  const error = new client.ClientError('The ID token was not issued during the sign-in, or not by OIDC_ISSUER.')
  throw Object.assign(error, { code: 'OAUTH_JWT_CLAIM_COMPARISON_FAILED' })
}
