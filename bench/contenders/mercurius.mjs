/** mercurius with its own loaders. `jit: 1` compiles each document after its first request. */
import Fastify from 'fastify'
import mercurius from 'mercurius'
import { createBearer } from '../dist/contenders/bearer.js'
import { connect } from '../dist/contenders/database.js'
import { createBatches, createResolvers, typeDefs } from '../dist/contenders/graphql.js'
import { reportOrigin } from '../dist/contenders/report-origin.js'

const sql = connect()
const bearer = createBearer(sql)
const batches = createBatches(sql)

const app = Fastify()
app.addHook('onRequest', async (request, reply) => {
  if (!(await bearer(request.headers.authorization)))
    return reply.code(401).send({ message: 'A valid bearer token is required.' })
})
const idsOf = queries => queries.map(({ obj }) => obj.databaseId)
app.register(mercurius, {
  schema: typeDefs,
  resolvers: createResolvers(sql),
  loaders: {
    CatalogVoucher: {
      categories: { loader: queries => batches.categories(idsOf(queries)), opts: { cache: false } },
      variants: { loader: queries => batches.variants(idsOf(queries)), opts: { cache: false } },
    },
  },
  jit: 1,
})
await app.listen({ port: 0, host: '127.0.0.1' })
reportOrigin(app.server)
