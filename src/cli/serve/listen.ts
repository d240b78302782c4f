import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config/config.ts'
import { ReasonError, reason } from '../../reasons.ts'
import { shellCommand } from '../terminal/shell-command.ts'

/**
 * The error codes for a host name that does not exist (lookup), and for the address of another machine (listen(2)).
 */
const hostErrorCodes = /^(EADDRNOTAVAIL|EAFNOSUPPORT|EINVAL|ENOTFOUND|EAI_\w+)$/

/**
 * Returns the origin at which this machine reaches the service.
 *
 * @param host the address on which the service listens, as in `HOST`
 */
export function localOrigin(host: string, port: number): string {
  // The unspecified address, in any notation, means that the service listens on all addresses.
  if (/^[0.:]+$/.test(host)) return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * The maximum number of connections that may wait to be accepted, up to `net.core.somaxconn` of the kernel. Node has
 * 511.
 */
const backlog = 4096

/**
 * Checks that the configured addresses are free, so that a slow start does not fail only at its end.
 *
 * @throws ReasonError as `listen` does
 */
export async function requireFreePorts({ host, port, healthPort = 0, metricsPort = 0 }: Config): Promise<void> {
  const checks = { PORT: port, HEALTH_PORT: healthPort, METRICS_PORT: metricsPort }
  for (const [name, number] of Object.entries(checks)) {
    if (number === 0) continue
    await listenAt(host, name, number, async address => {
      const server = createServer().listen(number, address)
      await once(server, 'listening')
      await new Promise(resolve => server.close(resolve))
    })
  }
}

/**
 * Listens on the configured addresses.
 *
 * @returns the origin at which this machine reaches the service
 * @throws ReasonError that names `HOST`, `PORT` or `HEALTH_PORT` when the operating system rejects it
 */
export async function listen(app: FastifyInstance, { host, port, healthPort }: Config): Promise<string> {
  const listenWith = (server: FastifyInstance, name: string, number: number) =>
    listenAt(host, name, number, address => server.listen({ host: address, port: number, backlog }))
  if (app.health && healthPort !== undefined) await listenWith(app.health, 'HEALTH_PORT', healthPort)
  await listenWith(app, 'PORT', port)
  const address = app.server.address()
  return localOrigin(host, typeof address === 'object' && address !== null ? address.port : port)
}

/**
 * Listens on one port.
 *
 * @param name the variable that names the port
 * @param start listens on an address of the host
 * @throws Error as `listen` does
 */
export async function listenAt(
  host: string,
  name: string,
  port: number,
  start: (address: string) => Promise<unknown>,
): Promise<void> {
  try {
    // Fastify gets an address and not a name. For `localhost`, Fastify would also listen on the other addresses, with
    // servers that have neither our limits nor our error answers.
    const { address } = await lookup(host, { verbatim: false })
    await start(address)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const facts = { host, variable: name, port, error: code }
    const options = { cause: error }
    if (hostErrorCodes.test(code)) throw new ReasonError(reason('HOST_INVALID', facts), options)
    if (code === 'EACCES') throw new ReasonError(reason('PORT_FORBIDDEN', facts), options)
    if (code !== 'EADDRINUSE') throw error
    const example = name === 'PORT' ? `with: ${shellCommand('serve --port 8081')}` : `${name}=8081`
    throw new ReasonError(reason('PORT_IN_USE', { ...facts, example }), options)
  }
}
