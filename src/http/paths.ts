/** Where v1 begins (contract, Versioning). */
export const restPath = '/api/external/v1'

/** Where GraphQL is asked. */
export const graphqlPath = '/graphql'

/** Where GraphiQL is shown. */
export const graphiqlPath = '/graphiql'

/** Where the files that pages load are, below the root and below a transport's own path. */
export const assetsPath = '/assets'

/** Where the API access page begins. */
export const adminPath = '/admin'

/** Where one-time links lead: their secret comes after it. */
export const setupPath = `${adminPath}/setup`
