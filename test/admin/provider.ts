import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer } from 'node:http'
import Provider from 'oidc-provider'
import { afterFile } from '../support/cleanups.ts'
import { listen } from '../support/free-port.ts'

/** The claims of a person who can sign in at the provider. */
export type Person = {
  sub: string
  email?: string
  email_verified?: unknown
  xms_edov?: unknown
  groups?: unknown
  /** The claims of the ID token except `sub`. All other claims are sent as user info. */
  idToken?: { email?: string; email_verified?: boolean; xms_edov?: boolean; groups?: string }
}

interface ClaimsContext {
  oidc: { client: { clientId: string }; session: { accountId: string } }
}

/** Creates a key that signs ID tokens. Returns the private key, and the public key as the provider publishes it. */
export function createSigningKey(kid: string) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const jwkOf = (key: KeyObject) => ({ ...key.export({ format: 'jwk' }), kid, alg: 'RS256', use: 'sig' })
  return { privateKey, publicKey, privateJwk: jwkOf(privateKey), publicJwk: jwkOf(publicKey) }
}

type Json = Record<string, unknown>

/**
 * Starts a real OpenID provider on a loopback port. The provider signs in the person of the last `visit` without a
 * prompt.
 */
export async function startProvider(redirectUris: string[]) {
  const people = new Map<string, Person>()
  let visitor: Person | null = null
  const key = createSigningKey('first')
  const changes = new Map<string, (body: Json) => unknown>()
  const known = () => visitor

  const server = createServer((request, response) => {
    // One provider can serve several issuers, each below its own path.
    request.url = request.url?.replace(/^\/of\/shop\//, '/')
    if (!request.url?.startsWith('/interaction/')) return provider.callback()(request, response)
    const person = known()
    void provider.interactionFinished(
      request,
      response,
      person
        ? { login: { accountId: person.sub } }
        : { error: 'access_denied', error_description: 'The person did not want to.' },
    )
  })
  const issuer = `http://127.0.0.1:${await listen(server)}`
  afterFile(() => server.closeAllConnections())

  const provider = new Provider(issuer, {
    clients: [{ client_id: 'gateway', client_secret: 'a-secret-of-the-client', redirect_uris: redirectUris }],
    jwks: { keys: [key.privateJwk] },
    enabledJWA: { idTokenSigningAlgValues: ['RS256', 'HS256'] },
    pkce: { required: () => true },
    claims: { openid: ['sub'], email: ['email', 'email_verified', 'xms_edov'], groups: ['groups'] },
    scopes: ['openid', 'email', 'groups'],
    cookies: { keys: ['a key for the cookies of the provider'] },
    ttl: { AccessToken: 60, Grant: 60, IdToken: 60, Interaction: 60, Session: 60 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    conformIdTokenClaims: false,
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: (use: string) => (use === 'id_token' ? { sub, ...people.get(sub)?.idToken } : people.get(sub)),
    }),
    async loadExistingGrant({ oidc }: ClaimsContext) {
      const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope('openid email groups')
      await grant.save()
      return grant
    },
  })

  provider.use(async (context, next) => {
    await next()
    const change = changes.get(context.path)
    if (!change) return
    context.body = change(context.body)
    if (typeof context.body === 'string') context.status = 502
    if (typeof context.body === 'number') Object.assign(context, { status: context.body, body: '' })
  })

  return {
    issuer,
    key,

    /**
     * Replaces the answers of a path until `answerAsUsual` is called.
     *
     * @param path `/token`, `/me`, `/jwks` or `/.well-known/openid-configuration`
     * @param change returns the new body, or a stream; a text is sent as the body of a 502, and a number is sent as a
     *   status
     */
    answer(path: string, change: (body: Json) => unknown) {
      changes.set(path, change)
    },
    answerAsUsual: () => changes.clear(),

    environment: { OIDC_ISSUER: issuer, OIDC_CLIENT_ID: 'gateway', OIDC_CLIENT_SECRET: 'a-secret-of-the-client' },

    /**
     * Follows the redirect of the service, signs in as the person (null: declines), and returns the URL of the
     * callback.
     */
    async visit(url: string, person: Person | null): Promise<string> {
      visitor = person
      if (person) people.set(person.sub, person)
      const jar = new Map<string, string>()
      let next = new URL(url)
      for (let hop = 0; hop < 10 && next.origin === issuer; hop++) {
        const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
        const answer = await fetch(next, { redirect: 'manual', headers: { cookie } })
        for (const set of answer.headers.getSetCookie()) {
          const [name = '', value = ''] = set.split(';', 1)[0]?.split(/=(.*)/s) ?? []
          jar.set(name, value)
        }
        const location = answer.headers.get('location')
        if (location === null) throw new Error(`the provider stopped with ${answer.status}: ${await answer.text()}`)
        next = new URL(location, next)
      }
      return next.href
    },
  }
}
