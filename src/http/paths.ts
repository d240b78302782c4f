/** The base path of v1 (contract, Versioning). */
export const v1Path = '/api/external/v1'

/** The base path of bulk exports of v1's records. */
export const exportPath = '/api/external/export/v1'

/** The OpenAPI document of v1 and of its bulk export. */
export const openApiPath = `${v1Path}/openapi.json`

/** The public keys of redemption tokens (RFC 7517). */
export const keySetPath = '/.well-known/jwks.json'

export const graphqlPath = '/graphql'
export const graphiqlPath = '/graphiql'
export const dashboardPath = '/dashboard'
export const docsPath = '/docs'

/** The till of the demo. */
export const tillPath = '/till'

/** The folder of the style sheets and scripts of all pages. */
export const assetsPath = '/assets'

export const adminPath = '/admin'

/** The path to which the OpenID provider sends a browser back. */
export const openIdCallbackPath = `${adminPath}/login/callback`

/** The path of one-time links, before the secret. */
export const setupPath = `${adminPath}/setup`
