import { connect, createServer, type Socket } from 'node:net'
import { afterFile } from '../../../test/support/cleanups.ts'
import { listen } from '../../../test/support/free-port.ts'
import { startService as startTestService } from '../../../test/support/service.ts'
import { VoucherGateway } from '../src/index.ts'

/** Starts the service on a free port, with one tenant and a token that may read it. */
export async function startService(environment: NodeJS.ProcessEnv = {}) {
  const { database, build, client } = await startTestService(environment)
  const { app } = client
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  // After an abort, Node's fetch opens a spare connection, which would keep the server open for 30 seconds.
  afterFile(() => app.server.closeAllConnections())
  const tenant = await build.tenant({ name: 'Harbour Spa', subdomain: 'harbour', type: 'spa' })
  const { secret: token } = await build.token([tenant])
  return { ...database, build, app, url, tenant, token }
}

/**
 * A reaction of the proxy to one request: it answers itself, stays silent, cuts the connection or forwards the request.
 */
export type Step =
  | { answer: string }
  | 'silence'
  | 'cut at once'
  /** The number of bytes of the answer's body that the proxy forwards before it cuts the connection. */
  | { cutAfter: number }
  /** The number of bytes of the answer's body that the proxy forwards before it stays silent. */
  | { holdAfter: number }
  | 'pass'

/** Returns the text of an HTTP answer, as a load balancer would send it. */
export function formatAnswer(status: number, headers: Record<string, string> = {}, body = ''): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return [`HTTP/1.1 ${status} Status`, ...lines, `content-length: ${Buffer.byteLength(body)}`, '', body].join('\r\n')
}

/**
 * Starts a TCP proxy in front of a service, and a client that calls the proxy. The proxy performs one step per request,
 * and forwards all requests after the last step.
 */
export async function startProxyWithClient(
  { url: target, token }: { url: string; token: string },
  steps: readonly Step[],
) {
  const plan = [...steps]
  /** The first lines of the requests that the proxy received; `passed` has the lines of the forwarded requests. */
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
      // Each request of the tests is small enough to arrive in one `data` event.
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
      // All headers of an answer arrive in one `data` event.
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

/** Collects all values of an iterable in an array. */
export async function collectAll<T>(iterable: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = []
  for await (const value of iterable) values.push(value)
  return values
}
