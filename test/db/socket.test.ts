/**
 * Tests the code that `src/db/connection/socket.ts` and patches add to the driver, with a faulty proxy in front of a
 * real server.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { connect as connectSocket, createServer, isIP, Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises'
import { TLSSocket } from 'node:tls'
import { expect, onTestFinished, test, vi } from 'vitest'
import { readDatabaseUrl } from '#database-url'
import { connect, type PoolOptions, serviceRole } from '../../src/db/connection/connect.ts'
import { isOutage } from '../../src/db/connection/outage.ts'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { listen } from '../support/free-port.ts'

const { address } = await createDatabase()

/** Connects a client of the proxy to the database. When one side closes, the other side closes too. */
function connectToServer(client: Socket): Socket {
  const server = connectSocket(join(address.host, `.s.PGSQL.${address.port}`))
  client.pipe(server).pipe(client)
  server.on('close', () => client.destroy()).on('error', () => {})
  client.on('close', () => server.destroy())
  return server
}

/**
 * Opens a pool that connects through a proxy.
 *
 * @param serve handles a connection of the proxy; `number` counts connections from 1
 * @returns the pool, a function that returns the number of accepted connections, and the sockets that `serve` has
 *   returned
 */
async function openBehind(
  serve: (client: Socket, number: number) => unknown,
  options: Partial<PoolOptions> & { sslmode?: string } = {},
  host = '127.0.0.1',
) {
  let accepted = 0
  const servers: Socket[] = []
  const proxy = createServer(client => {
    client.on('error', () => {})
    const server = serve(client, ++accepted)
    if (server instanceof Socket) servers.push(server)
  })
  const port = await listen(proxy, host)
  const { sslmode = 'disable', ...limits } = options
  const url = `postgres://${address.user}@${isIP(host) === 6 ? `[${host}]` : host}:${port}/${address.database}?sslmode=${sslmode}`
  const pool = connect(url, { max: 1, statementTimeoutMs: 5_000, ...limits })
  onTestFinished(() => pool.end({ timeout: 0 }))
  return { pool, accepted: () => accepted, servers }
}

test.each([
  ['before the first row', 1],
  ['in the middle of the rows', 100],
])('a statement fails when the server stops answering %s, and the pool recovers with the server', async (_, row) => {
  const { pool, accepted, servers } = await openBehind(connectToServer, { answerTimeoutMs: 2_000 })
  await pool`select 1`
  const asked =
    pool`select repeat('-', 1000), pg_sleep(case i when ${row} then 3 end) from generate_series(1, 1000) i`.execute()
  setTimeout(() => servers[0]?.unpipe().pause(), 50)
  await expect(asked).rejects.toSatisfy(isOutage)
  await expect(asked).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
  expect(accepted()).toBe(2)
})

test.each([
  ['a connection without a statement may be silent for longer', 'disable'],
  ['one without TLS may be idle for longer than the TLS offer may take', 'prefer'],
])('%s', async (_, sslmode) => {
  const { pool, accepted, servers } = await openBehind(connectToServer, { sslmode, answerTimeoutMs: 1_000 })
  const [before] = await pool`select pg_backend_pid() as pid`
  await pause(2_500)
  expect(await pool`select pg_backend_pid() as pid`).toEqual([before])
  expect(accepted()).toBe(1)
  // The limit applies to the next statement on this connection.
  servers[0]?.unpipe().pause()
  await expect(pool`select 1`).rejects.toMatchObject({ code: 'ETIMEDOUT' })
})

test('rows that arrive do not extend the time limit of an answer', async () => {
  const { pool } = await openBehind(connectToServer, { answerTimeoutMs: 2_000 })
  await pool`select 1`
  // The server sends a row every 0.1 s, because each row is larger than its buffer.
  const slow = pool`select repeat('-', 9000), pg_sleep(0.1) from generate_series(1, 100)`
  await expect(slow).rejects.toMatchObject({ code: 'ETIMEDOUT' })
})

test('when all connections stop answering, one statement times out and the pool then replaces all connections', async () => {
  const { pool, accepted, servers } = await openBehind(connectToServer, { max: 4, answerTimeoutMs: 2_000 })
  await Promise.all(Array.from({ length: 4 }, () => pool`select pg_sleep(0.1)`))
  expect(accepted()).toBe(4)
  // The time limit starts at the next periodic check, so this pause must not count.
  await pause(1_000)
  for (const server of servers) server.unpipe().pause()
  await expect(pool`select 1`).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  for (let time = 0; time < 4; time++) expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
})

test('a pool that ends closes the connections that the server leaves open, and opens no new connection', async () => {
  const clients: Socket[] = []
  const leaveOpen = (client: Socket) => {
    client.allowHalfOpen = true
    clients.push(client.resume())
  }
  const { pool, accepted } = await openBehind(leaveOpen, { max: 2 })
  const asked = [pool`select 1`, pool`select 1`].map(statement => statement.catch(error => error))
  await expect.poll(accepted).toBe(2)
  await pool.end({ timeout: 0.2 })
  for (const error of await Promise.all(asked)) expect(isOutage(error)).toBe(true)
  for (const client of clients) {
    // A half-closed socket still accepts data. Only a fully closed socket rejects data.
    const rejected = new Promise(resolve => client.once('close', resolve))
    const sending = setInterval(() => client.write('x'), 10)
    await rejected
    clearInterval(sending)
  }
  expect(accepted()).toBe(2)
})

test('each statement fails when the server closes new connections, and there is a pause before each reconnection', async () => {
  const { pool, accepted } = await openBehind(client => client.destroy(), { max: 4 })
  const began = performance.now()
  for (let time = 0; time < 3; time++) {
    const asked = Array.from({ length: 8 }, () => pool`select 1`.catch(error => error))
    for (const error of await Promise.all(asked)) expect(error).toSatisfy(isOutage)
  }
  expect(accepted()).toBeLessThanOrEqual(Math.min(24, 4 * (1 + Math.ceil((performance.now() - began) / 250))))
})

// 02-drop-buffered-bytes and 03-settle-after-error.
test('a statement that is sent while its connection closes fails, and the next statement succeeds', async () => {
  const clients: Socket[] = []
  const { pool, accepted } = await openBehind(client => {
    clients.push(client)
    return connectToServer(client)
  })
  // The number of turns varies, so that the socket closes before, while and after the statement is buffered.
  for (let turns = 0; turns < 6; turns++) {
    await pool`select 1`
    clients.at(-1)?.destroy()
    for (let turn = 0; turn < turns; turn++) await nextTurn()
    await pool`select 1`.catch(error => expect(error).toSatisfy(isOutage))
  }
  expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
  expect(accepted()).toBe(7)
})

/** Returns the bytes of an ErrorResponse of PostgreSQL. */
function createErrorResponse(severity: string, code: string): Buffer {
  const fields = Buffer.from(`S${severity}\0C${code}\0MAn error\0\0`)
  return Buffer.concat([Buffer.from([0x45, 0, 0, 0, 4 + fields.length]), fields])
}

// 04-forget-failed-statement.
test('a connection that is refused in the place of a lost one fails only its own statement', async () => {
  const { pool } = await openBehind((client, number) => {
    if (number !== 2) return connectToServer(client)
    client.once('data', () => client.end(createErrorResponse('FATAL', '57P03')))
  })
  await expect(pool`select pg_terminate_backend(pg_backend_pid())`).rejects.toThrow()
  await expect(pool`select 1`).rejects.toMatchObject({ code: '57P03' })
  expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
})

// 08-forget-undescribed-statement.
test('a statement that fails between the descriptions of its parameters and columns is prepared again', async () => {
  let described = 0
  let isFailed = false
  const { pool } = await openBehind(client => {
    const server = connectToServer(client)
    server.unpipe().resume()
    server.on('data', (bytes: Buffer) => {
      // These bytes are ParseComplete, and ParameterDescription with one parameter.
      const isDescription = bytes.toString('latin1').startsWith('1\0\0\0\x04t\0\0\0\n')
      if (isFailed) {
        // Only ReadyForQuery.
        client.write(bytes.subarray(-6))
        isFailed = false
      } else if (isDescription && ++described === 1) {
        client.write(Buffer.concat([bytes.subarray(0, 16), createErrorResponse('ERROR', '55P03')]))
        isFailed = true
      } else client.write(bytes)
    })
    return server
  })
  const read = () => pool`select ${1}::integer as one`
  await expect(read()).rejects.toMatchObject({ code: '55P03' })
  expect(await read()).toEqual([{ one: 1 }])
  expect(described).toBe(2)
})

/** A self-signed certificate for localhost, with its key. */
const pem = readFileSync(join(import.meta.dirname, '../support/localhost.pem'))

/** Accepts the SSLRequest of a client, and passes the decrypted connection to `serve`. */
function createTlsAcceptor(serve: (client: Socket) => void) {
  return (client: Socket) => {
    client.once('data', () => {
      client.write('S')
      const encrypted = new TLSSocket(client, { isServer: true, key: pem, cert: pem })
      encrypted.on('error', () => client.destroy())
      serve(encrypted)
    })
  }
}

test('sslmode decides about TLS, and the time limit of an answer also works with TLS', async () => {
  let server: Socket | undefined
  const serve = createTlsAcceptor(client => {
    server = connectToServer(client)
  })
  const { pool, accepted } = await openBehind(serve, { sslmode: 'require', answerTimeoutMs: 2_000 })
  expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
  const asked = pool`select pg_sleep(0.1)`.execute()
  server?.unpipe().pause()
  await expect(asked).rejects.toMatchObject({ code: 'ETIMEDOUT' })
  expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
  expect(accepted()).toBe(2)

  const verified = await openBehind(serve, { sslmode: 'verify-full' })
  await expect(verified.pool`select 1`).rejects.toMatchObject({ code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  const authorities = `sslrootcert=${join(import.meta.dirname, '../support/localhost.pem')}`
  for (const mode of ['require', 'verify-ca']) {
    const { pool } = await openBehind(serve, { sslmode: `${mode}&${authorities}` })
    expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
  }
  // The certificate is for localhost, so verification must fail for the address 127.0.0.1.
  for (const mode of ['verify-full', '']) {
    const { pool } = await openBehind(serve, { sslmode: `${mode}&${authorities}` })
    await expect(pool`select 1`).rejects.toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  }
})

test('parameters of libpq and of hosting providers are used or ignored, and environment variables of libpq are the defaults', async () => {
  const ignored = `
    channel_binding=prefer gssencmode=prefer keepalives=1 connect_timeout=9 uselibpqcompat=true schema=public supa=x
    sslnegotiation=postgres target_session_attrs=read-write connection_limit=1 client_encoding=UTF8 dbname=${address.database}`
  const used = 'pgbouncer=true application_name=shop options=-c%20lock_timeout%3D77'
  const { pool } = await openBehind(connectToServer, { sslmode: `${ignored} ${used}`.replaceAll(/\s+/g, '&') })
  const [session] = await pool`
    select current_setting('application_name') as name, current_setting('lock_timeout') as lock,
      (select count(*) from pg_prepared_statements) as prepared`
  expect(session).toEqual({ name: 'shop', lock: '77ms', prepared: 0 })

  vi.stubEnv('PGAPPNAME', 'other')
  onTestFinished(() => void vi.unstubAllEnvs())
  const { pool: plain } = await openBehind(connectToServer)
  expect(await plain`select current_setting('application_name') as name`).toEqual([{ name: 'other' }])
})

const hasIpv6 = Object.values(networkInterfaces()).some(all => all?.some(({ address }) => address === '::1'))

test.runIf(hasIpv6)('the pool connects with an IPv6 address and a password file', async () => {
  const file = join(createDirectory(), 'pgpass')
  writeFileSync(file, `# comment\n\\:\\:1:1:x:y:no\n*:*:${address.database}:${address.user}:s3:cret\n`)
  const url = `postgres://${address.user}@[::1]:65432/${address.database}?passfile=${file}`
  expect(readDatabaseUrl(url)).toMatchObject({ host: '::1', port: 65432, password: 's3' })
  const { pool } = await openBehind(connectToServer, {}, '::1')
  expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
})

test('a server without TLS is used with sslmode=prefer, and refused with sslmode=require', async () => {
  const refuse = (client: Socket) =>
    client.once('data', () => {
      client.write('N')
      connectToServer(client)
    })
  const { pool } = await openBehind(refuse, { sslmode: 'prefer' })
  expect(await pool`select 1 as one`).toEqual([{ one: 1 }])
  const required = await openBehind(refuse, { sslmode: 'require' })
  // The second attempt shows that the failed connection has freed its place in the pool.
  for (let time = 0; time < 2; time++) await expect(required.pool`select 1`).rejects.toThrow('does not accept TLS')
})

test('a connection of the service has jit off and enough work_mem to group in memory', async () => {
  const pool = connect(address, { max: 1, statementTimeoutMs: 10_000, role: serviceRole })
  const [session] = await pool`select current_setting('jit') as jit, current_setting('work_mem') as work_mem`
  await pool.end()
  expect(session).toEqual({ jit: 'off', work_mem: '32MB' })
})
