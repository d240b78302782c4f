import type { FastifyInstance } from 'fastify'
import type { Config } from '../config.ts'

/** The remedy for each error code of listen(2) and of the look-up of the host's name. */
const remedies: Record<string, string> = {
  EADDRINUSE: 'Another program listens there. Stop it, or set PORT to another port, for example PORT=8081.',
  EACCES: 'This user may not use that port. Set PORT to 1024 or higher, for example PORT=8080.',
}

const hostRemedy =
  'HOST must be an address of this machine, for example HOST=127.0.0.1, or HOST=0.0.0.0 for all of its addresses.'

const hostCodes = /^(EADDRNOTAVAIL|EAFNOSUPPORT|EINVAL|ENOTFOUND|EAI_\w+)$/

/**
 * Listens where the configuration says.
 *
 * @returns the port
 * @throws Error that names `HOST` or `PORT` when the operating system refuses it
 */
export async function listen(app: FastifyInstance, { host, port }: Config): Promise<number> {
  try {
    await app.listen({ host, port })
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const remedy = remedies[code] ?? (hostCodes.test(code) ? hostRemedy : undefined)
    if (remedy === undefined) throw error
    throw new Error(`Cannot listen with HOST=${host} and PORT=${port} (${code}). ${remedy}`, { cause: error })
  }
  const address = app.server.address()
  return typeof address === 'object' && address !== null ? address.port : port
}
