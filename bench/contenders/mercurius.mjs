/** mercurius, compiling each document when it has come once (`jit: 1`), with its own loaders. */
import Fastify from 'fastify'
import mercurius from 'mercurius'
import { createBearer } from '../dist/contenders/bearer.js'
import { connect } from '../dist/contenders/database.js'
import { createBatches, createResolvers, typeDefs } from '../dist/contenders/graphql.js'
import { tellPort } from '../dist/contenders/tell-port.js'

const sql = connect()
const bearer = createBearer(sql)
const batches = createBatches(sql)

const app = Fastify()
app.addHook('onRequest', async (request, reply) => {
  if (!(await bearer(request.headers.authorization))) return reply.code(401).send({ message: 'Who are you?' })
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
tellPort(app.server)
