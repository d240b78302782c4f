import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'

/** Remedies by the error code of listen(2) and of the DNS lookup of the host. */
const remedies: Record<string, string> = {
  EADDRINUSE: 'Another program listens on that port. Stop it, or set PORT to another port, for example PORT=8081.',
  EACCES: 'This user may not use that port. Set PORT to 1024 or higher, for example PORT=8080.',
}

const hostRemedy =
  'HOST must be an address of this machine, for example HOST=127.0.0.1, or HOST=0.0.0.0 for all of its addresses.'

const hostCodes = /^(EADDRNOTAVAIL|EAFNOSUPPORT|EINVAL|ENOTFOUND|EAI_\w+)$/

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
 * Listens on the configured address.
 *
 * @returns the origin at which this machine reaches the service
 * @throws Error that names `HOST` or `PORT` when the operating system rejects it
 */
export async function listen(app: FastifyInstance, { host, port }: Config): Promise<string> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const remedy = remedies[code] ?? (hostCodes.test(code) ? hostRemedy : undefined)
    if (remedy === undefined) throw error
    throw new Error(`Cannot listen with HOST=${host} and PORT=${port} (${code}). ${remedy}`, { cause: error })
  }
  const address = app.server.address()
  return localOrigin(host, typeof address === 'object' && address !== null ? address.port : port)
}
