/** The base path of v1 (contract, Versioning). */
export const v1Path = '/api/external/v1'

/** The base path of bulk exports of v1's records. */
export const exportPath = '/api/external/export/v1'

/** The path of the OpenAPI document of v1 and of its bulk exports. */
export const openApiPath = `${v1Path}/openapi.json`

/** The path of the public keys of redemption tokens (RFC 7517). */
export const keySetPath = '/.well-known/jwks.json'

export const graphqlPath = '/graphql'
export const graphiqlPath = '/graphiql'
export const dashboardPath = '/dashboard'
export const docsPath = '/docs'

/** The path of the till, which only the demo has. */
export const tillPath = '/till'

/** The path below which the style sheets and scripts of all pages are served. */
export const assetsPath = '/assets'

export const adminPath = '/admin'

/** The path to which the OpenID provider sends a browser back. */
export const openIdCallbackPath = `${adminPath}/login/callback`

/** The path of one-time links, in front of the secret. */
export const setupPath = `${adminPath}/setup`
