import { connect, createServer, type Socket } from 'node:net'
import { afterFile } from '../../../test/support/cleanups.ts'
import { listen } from '../../../test/support/free-port.ts'
import { startService as startTestService } from '../../../test/support/service.ts'
import { VoucherGateway } from '../src/index.ts'

/** Starts the service on a port of its own, with a tenant that a token may read. */
export async function startService(environment: NodeJS.ProcessEnv = {}) {
  const { database, build, client } = await startTestService(environment)
  const { app } = client
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  // After an abort, Node's fetch opens a connection ahead, which the server would not close for 30 seconds.
  afterFile(() => app.server.closeAllConnections())
  const tenant = await build.tenant({ name: 'Harbour Spa', subdomain: 'harbour', type: 'spa' })
  const { secret: token } = await build.token([tenant])
  return { ...database, build, app, url, tenant, token }
}

/** A reaction of the proxy to a request: it answers itself, is silent, or cuts the connection. */
export type Step =
  | { answer: string }
  | 'silence'
  | 'cut at once'
  /** The bytes of the body of the answer that pass before the connection is cut. */
  | { cutAfter: number }
  /** The bytes of the answer's body that pass before the connection falls silent. */
  | { holdAfter: number }
  | 'pass'

/** The text of an answer as a load balancer gives it. */
export function answerOf(status: number, headers: Record<string, string> = {}, body = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} Status`, ...lines, `content-length: ${Buffer.byteLength(body)}`, '', body].join('\r\n')
}

/**
 * Starts a TCP proxy before a service, and a client that calls it. The proxy performs one step for each request, and
 * forwards later ones.
 */
export async function startFront({ url: target, token }: { url: string; token: string }, steps: readonly Step[]) {
  const plan = [...steps]
  /** The first lines of the requests that arrived, and of the requests that the service got. */
  const arrived: string[] = []
  const passed: string[] = []
  const open = new Set<Socket>()
  const server = createServer(client => {
    const service = connect(Number(new URL(target).port), '127.0.0.1')
    let left = Number.POSITIVE_INFINITY
    let isCutting = false
    let isHeld = false
    open.add(client.on('error', () => {}).on('close', () => service.destroy()))
    open.add(service.on('error', () => {}).on('close', () => client.destroy()))
    client.on('data', bytes => {
      // Each request of the tests is small enough to arrive in one piece.
      const line = /^(?:GET|POST) \S+/.exec(bytes.toString('latin1'))?.[0]
      if (line) arrived.push(line)
      const step = (line && plan.shift()) || 'pass'
      if (step === 'silence') return
      if (step === 'cut at once') return client.destroy()
      if (typeof step === 'object' && 'answer' in step) return client.write(step.answer)
      if (typeof step === 'object') left = 'cutAfter' in step ? step.cutAfter : step.holdAfter
      isHeld = typeof step === 'object' && 'holdAfter' in step
      if (line) passed.push(line)
      service.write(bytes)
    })
    service.on('data', bytes => {
      // The headers arrive in one piece.
      if (left < Number.POSITIVE_INFINITY && !isCutting) left += bytes.indexOf('\r\n\r\n') + 4
      isCutting = left < Number.POSITIVE_INFINITY
      if (left > 0) client.write(bytes.subarray(0, left))
      left -= bytes.length
      if (left <= 0 && !isHeld) client.end()
    })
  })
  const url = `http://127.0.0.1:${await listen(server)}`
  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  afterFile(cut)
  return { url, arrived, passed, cut, client: new VoucherGateway({ url, token }) }
}

/** Returns all that an iterable gives. */
export async function all<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = []
  for await (const value of iterable) values.push(value)
  return values
}
