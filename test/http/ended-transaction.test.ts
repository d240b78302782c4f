/** When the database ends the session of a request, the request is answered with 503 and can be sent again. */
import { connect as connectSocket, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { buildServer } from '../../src/server.ts'
import { createClient } from '../support/app.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { createDatabase } from '../support/database.ts'
import { listen } from '../support/free-port.ts'
import { projected } from '../support/projected.ts'

const { address, platform, build, pool: ofTests } = await createDatabase()
const tenant = await build.tenant()
const { secret } = await build.token([tenant])
await projected(ofTests)

/** A proxy that delays each answer of the database by 20 ms. */
const slowProxy = createServer(client => {
  const server = connectSocket(join(address.host, `.s.PGSQL.${address.port}`))
  client.on('error', () => {}).on('close', () => server.destroy())
  client.pipe(server, { end: false })
  server.on('error', () => {}).on('data', data => setTimeout(() => client.write(data), 20))
  server.on('close', () => setTimeout(() => client.destroy(), 40))
})
const port = await listen(slowProxy)

const settings = ['idle_in_transaction_session_timeout', 'transaction_timeout', 'idle_session_timeout']
test.each(settings)('a request whose session %s ends is 503', async setting => {
  const name = platform(address.database)
  const pool = connect({ ...address, host: '127.0.0.1', port }, { max: 1, statementTimeoutMs: 4000, role: serviceRole })
  const app = await buildServer({ config: readConfig({ LOG_LEVEL: 'silent' }), pool })
  onTestFinished(() => app.close())
  const { rest } = createClient(app)
  const [session] = await pool<[{ pid: number }]>`select pg_backend_pid() as pid`
  await platform`alter database ${name} set ${platform.unsafe(setting)} = '1ms'`
  await platform`select pg_terminate_backend(${session.pid})`
  for (let call = 0; call < 3; call++) {
    const { status, headers, text } = await rest(secret, '/tenants')
    expect([status, headers['retry-after']], text).toEqual([503, expect.stringMatching(/^[1-5]$/)])
  }
  await platform`alter database ${name} reset ${platform.unsafe(setting)}`
  await expect.poll(async () => (await rest(secret, '/tenants')).status, { timeout: 5_000 }).toBe(200)
})
