import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as client from 'openid-client'
import { z } from 'zod'
import type { Config } from '../../config.ts'
import type { Pool } from '../../db/connect.ts'
import { parseEmail } from '../../domain/administrator.ts'
import { type OpenIdIdentity, verifyOpenIdAdministrator } from '../../domain/administrator-openid.ts'
import { GatewayError } from '../../domain/errors.ts'
import { clientAddress } from '../../http/caller.ts'
import { adminPath } from '../../http/paths.ts'
import { originOf } from '../context.ts'
import { queryOf } from '../form-body.ts'
import { cookieKind } from './cookies.ts'
import { nextOf, sendOnward } from './login.tsx'
import type { LoginThrottle } from './login-throttle.ts'
import { signIn } from './session.ts'

type OpenIdConfig = NonNullable<Config['openId']>

/** How long somebody may take at the provider, and the provider to answer us, in seconds. */
const patience = { person: 600, provider: 5 }

/** What the browser keeps while somebody is at the provider. */
const Journey = z.object({ state: z.string(), nonce: z.string(), verifier: z.string(), next: z.string() })

const Claims = z.object({
  iss: z.string(),
  sub: z.string(),
  email: z.string().optional().catch(undefined),
  email_verified: z.boolean().optional().catch(undefined),
})

const refusals = {
  journey: 'The sign-in took too long, or was begun in another browser. Begin it again.',
  provider: 'Your organisation did not sign you in. Begin again, or ask who looks after its accounts.',
  stranger: 'Your organisation has signed you in, but you are not among those who may enter here.',
  email: 'Your organisation has signed you in, but has not verified your e-mail, without which you cannot enter here.',
  account: 'The account of this e-mail was removed, or belongs to somebody else. Ask another administrator.',
} as const

const refusal = (reason: keyof typeof refusals) => new GatewayError('FORBIDDEN', refusals[reason])

const unavailable = (cause: unknown) =>
  new GatewayError(
    'UNAVAILABLE',
    'The sign-in of your organisation cannot be reached just now. Try again in a moment, or sign in with a password.',
    { retryAfter: 30, cause },
  )

/** Signing in through an OpenID provider: authorization code with PKCE, state and nonce. */
export function registerOpenIdPages(
  scope: FastifyInstance,
  sql: Pool,
  { config, openId, attempts }: { config: Config; openId: OpenIdConfig; attempts: LoginThrottle },
): void {
  const discovery = createDiscovery(openId)
  // Not strict: the browser comes back from another site, and has to bring it along.
  const { name, options } = cookieKind(config, 'openid', 'lax')
  const redirectUri = (request: FastifyRequest) => `${originOf(request)}${adminPath}/login/callback`

  scope.get('/login/openid', async (request, reply) => {
    const provider = await discovery.cached()
    const next = nextOf(queryOf(request).get('next'))
    const journey = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier(),
      next,
    }
    const known = provider.serverMetadata().scopes_supported ?? []
    const target = client.buildAuthorizationUrl(provider, {
      redirect_uri: redirectUri(request),
      scope: ['openid', 'email', ...(known.includes('groups') ? ['groups'] : [])].join(' '),
      state: journey.state,
      nonce: journey.nonce,
      code_challenge: await client.calculatePKCECodeChallenge(journey.verifier),
      code_challenge_method: 'S256',
    })
    const kept = Buffer.from(JSON.stringify(journey)).toString('base64url')
    return reply.setCookie(name, kept, { ...options, maxAge: patience.person }).redirect(target.href, 303)
  })

  scope.get('/login/callback', async (request, reply) => {
    reply.clearCookie(name, options)
    const journey = readJourney(request.cookies[name])
    if (!journey) throw refusal('journey')
    // Whoever comes back has us ask the provider.
    return attempts.fromAddress({ name: 'no e-mail', address: clientAddress(request) }, async () => {
      const claims = await claimsOf(request, journey)
      if (!claims) throw await refused(request, 'provider')
      const { iss, sub, email: given, email_verified: verified } = Claims.parse(claims)
      const email = verified === true && given !== undefined ? parseEmail(given) : null
      if (!mayEnter(openId, email, claims[openId.groupsClaim])) throw await refused(request, 'stranger', email)
      return admit(request, reply, { subject: `${iss} ${sub}`, email }, nextOf(journey.next))
    })
  })

  /**
   * @returns the claims of the ID token, and of the user info where the provider has it; null when the provider, or what
   *   it sent, is no proof of who came back. The e-mail and whether it is verified come from one of the two.
   * @throws `UNAVAILABLE` when the provider cannot be asked
   */
  async function claimsOf(
    request: FastifyRequest,
    { state, nonce, verifier }: z.infer<typeof Journey>,
  ): Promise<Record<string, unknown> | null> {
    const provider = await discovery.fetch()
    try {
      const tokens = await client.authorizationCodeGrant(provider, new URL(request.url, originOf(request)), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (!claims) throw new Error('no ID token')
      if (provider.serverMetadata().userinfo_endpoint === undefined) return claims
      const userInfo = await client.fetchUserInfo(provider, tokens.access_token, claims.sub)
      const { email, email_verified } = claims.email === undefined ? userInfo : claims
      return { ...userInfo, ...claims, email, email_verified }
    } catch (error) {
      if (!isRefusal(error)) throw unavailable(error)
      request.log.info({ err: error }, 'sign-in through the OpenID provider refused')
      return null
    }
  }

  async function admit(request: FastifyRequest, reply: FastifyReply, identity: OpenIdIdentity, next: string) {
    const actor = { name: identity.email ?? 'no e-mail', address: clientAddress(request) }
    const verified = await verifyOpenIdAdministrator(sql, actor, identity)
    if (!verified) throw await refused(request, identity.email === null ? 'email' : 'account', identity.email)
    if (!(await signIn(sql, request, verified, 'openid'))) throw await refused(request, 'account', identity.email)
    // A redirect would still be part of what another site began, and the session's cookie is strict.
    return sendOnward(reply, next)
  }

  /** Puts down that somebody whom the provider signed in was not let in. */
  async function refused(
    request: FastifyRequest,
    reason: keyof typeof refusals,
    email: string | null = null,
  ): Promise<GatewayError> {
    const actor = { name: email ?? 'no e-mail', address: clientAddress(request) }
    await attempts.noteRefused(actor, `openid: ${reason}`)
    return refusal(reason)
  }
}

/** Reads the provider's metadata (OpenID Connect Discovery). */
interface Discovery {
  /** @returns the metadata of the first fetch: enough to send a browser to the provider */
  cached(): Promise<client.Configuration>
  /** @returns the metadata as they are now; the keys that sign ID tokens are read with them, so a rotated key holds */
  fetch(): Promise<client.Configuration>
}

function createDiscovery({ issuer, clientId, clientSecret }: OpenIdConfig): Discovery {
  let first: Promise<client.Configuration> | undefined
  const url = new URL(issuer)
  const options = {
    timeout: patience.provider,
    execute: [
      client.enableNonRepudiationChecks,
      // The configuration has seen to it that this is this machine.
      ...(url.protocol === 'http:' ? [client.allowInsecureRequests] : []),
    ],
  }
  const fetch = () =>
    client.discovery(url, clientId, clientSecret, undefined, options).catch(error => {
      throw unavailable(error)
    })
  return {
    cached() {
      first ??= fetch().catch(error => {
        first = undefined
        throw error
      })
      return first
    },
    fetch,
  }
}

function readJourney(cookie: string | undefined): z.infer<typeof Journey> | null {
  if (cookie === undefined) return null
  try {
    return Journey.parse(JSON.parse(Buffer.from(cookie, 'base64url').toString()))
  } catch {
    return null
  }
}

/** Codes of openid-client: what came back is not signed, dated or addressed as an ID token for us has to be. */
const refusalCodes = [
  'OAUTH_INVALID_RESPONSE',
  'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED',
  'OAUTH_JWT_CLAIM_COMPARISON_FAILED',
  'OAUTH_JWT_TIMESTAMP_CHECK_FAILED',
  'OAUTH_KEY_SELECTION_FAILED',
  'OAUTH_PARSE_ERROR',
  'OAUTH_UNSUPPORTED_OPERATION',
]

/** Whether the provider refused, or what it sent is no proof; any other error is a fault on the way to it. */
const isRefusal = (error: unknown) =>
  error instanceof client.AuthorizationResponseError ||
  (error instanceof client.ResponseBodyError && error.error === 'invalid_grant') ||
  (error instanceof client.ClientError && error.code !== undefined && refusalCodes.includes(error.code))

/** @param groups the claim that lists them: one or several */
function mayEnter(openId: OpenIdConfig, email: string | null, groups: unknown): boolean {
  const domain = email?.slice(email.lastIndexOf('@') + 1)
  if (domain !== undefined && openId.domains.includes(domain)) return true
  return [groups].flat().some(group => typeof group === 'string' && openId.groups.includes(group))
}
