/**
 * PostGraphile 5, run by Node 24, for it asks for 22 or later. It makes its schema of the tables and its statements of
 * the documents, so its answers have shapes of their own; the benchmark compares what is in them.
 */
import { createServer } from 'node:http'
import { postgraphile } from 'postgraphile'
import { makePgService } from 'postgraphile/adaptors/pg'
import { grafserv } from 'postgraphile/grafserv/node'
import { PostGraphileAmberPreset } from 'postgraphile/presets/amber'
import { createBearer } from '../dist/contenders/bearer.js'
import { connect } from '../dist/contenders/database.js'
import { tellPort } from '../dist/contenders/tell-port.js'

const { host, port, user, database } = JSON.parse(process.env.BENCH_DATABASE ?? '{}')
const bearer = createBearer(connect())

const door = postgraphile({
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ poolConfig: { host, port, user, database, max: 10 }, schemas: ['public'] })],
  grafserv: { graphqlPath: '/graphql', graphiql: false, watch: false },
}).createServ(grafserv)
const handle = door.createHandler()
await door.ready()

const server = createServer(async (request, response) => {
  if (!(await bearer(request.headers.authorization))) response.writeHead(401).end()
  else await handle(request, response)
})
server.listen(0, '127.0.0.1', () => tellPort(server))
