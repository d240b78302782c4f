/** graphql-yoga as it comes, on Node's own HTTP server. */
import { createServer } from 'node:http'
import DataLoader from 'dataloader'
import { createSchema, createYoga } from 'graphql-yoga'
import { createBearer } from './bearer.ts'
import { connect } from './database.ts'
import { createBatches, createResolvers, type OfProduct, typeDefs } from './graphql.ts'
import { tellPort } from './tell-port.ts'

interface Context {
  categories: DataLoader<number, OfProduct[]>
  variants: DataLoader<number, OfProduct[]>
}

const sql = connect()
const bearer = createBearer(sql)
const batches = createBatches(sql)

const yoga = createYoga<object, Context>({
  schema: createSchema<Context>({
    typeDefs,
    resolvers: {
      ...createResolvers(sql),
      CatalogVoucher: {
        categories: ({ databaseId }: { databaseId: number }, _: object, context: Context) =>
          context.categories.load(databaseId),
        variants: ({ databaseId }: { databaseId: number }, _: object, context: Context) =>
          context.variants.load(databaseId),
      },
    },
  }),
  context: () => ({ categories: new DataLoader(batches.categories), variants: new DataLoader(batches.variants) }),
  graphiql: false,
  landingPage: false,
  logging: false,
})

const server = createServer(async (request, response) => {
  if (!(await bearer(request.headers.authorization))) response.writeHead(401).end()
  else await yoga(request, response)
})
server.listen(0, '127.0.0.1', () => tellPort(server))
