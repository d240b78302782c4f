/** Checks each answer that a service gives in a test against the OpenAPI document. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from 'fastify'
import { afterFile } from './cleanups.ts'
import { differenceFrom, isDescribed, type Received } from './openapi.ts'

/** The maximum number of differences that a failure shows. */
const shown = 5

/** Returns the difference between an answer and its description, or null. */
type Check = (received: Received) => string | null

/**
 * Checks all answers of a service against the OpenAPI document. A wrong answer to an injected request fails the test; a
 * wrong answer through a socket fails the file.
 */
export function checkAnswers(app: FastifyInstance): void {
  const { check, report } = collectDifferences()
  checkInjected(app, check)
  checkSockets(app, check)
  afterFile(report)
}

/** Checks the answers that the tests of the file fetch from services in separate processes. */
export function checkFetched(): void {
  const { check, report } = collectDifferences()
  const { fetch } = globalThis
  const checked: Promise<void>[] = []
  globalThis.fetch = async (...given) => {
    const response = await fetch(...given)
    const { url, status } = response
    if (isDescribed(url)) {
      const method = given[1]?.method ?? (given[0] instanceof Request ? given[0].method : 'GET')
      const headers = Object.fromEntries(response.headers)
      const whole = response.clone().text()
      // An incomplete body is left to the test.
      checked.push(whole.then(text => void check({ method, url, status, headers, text })).catch(() => {}))
    }
    return response
  }
  afterFile(async () => {
    globalThis.fetch = fetch
    await Promise.all(checked)
    report()
  })
}

function collectDifferences(): { check: Check; report: () => void } {
  const differences = new Set<string>()
  return {
    check: received => {
      const difference = differenceFrom(received)
      if (difference !== null) differences.add(difference)
      return difference
    },
    report: () => {
      if (differences.size === 0) return
      const some = [...differences].slice(0, shown).join('\n')
      throw new Error(`${differences.size} answers are not as schema/openapi.v1.json describes them:\n${some}`)
    },
  }
}

function checkInjected(app: FastifyInstance, check: Check): void {
  const inject = app.inject.bind(app)
  Object.assign(app, {
    inject: async (request: InjectOptions | string): Promise<LightMyRequestResponse> => {
      const response = await inject(request)
      const { method = 'GET', url = '', path = url } = typeof request === 'string' ? { url: request } : request
      const target = typeof path === 'string' ? path : (path.pathname ?? '')
      if (isDescribed(target)) {
        const { statusCode: status, headers, rawPayload } = response
        const text = decode(rawPayload, headers)
        const difference = check({ method, url: target, status, headers: toTexts(headers), text })
        if (difference !== null) throw new Error(difference)
      }
      return response
    },
  })
}

function checkSockets(app: FastifyInstance, check: Check): void {
  app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    const { method = '', url = '' } = request
    if (!isDescribed(url)) return
    const chunks: Buffer[] = []
    const collect = ([chunk]: unknown[]) => {
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk))
    }
    watch(response, 'write', collect)
    watch(response, 'end', collect)
    // Headers that `writeHead` writes at once are not in `getHeaders`.
    let written: Record<string, string | undefined> = {}
    watch(response, 'writeHead', given => {
      const headers = given.at(-1)
      if (typeof headers === 'object' && headers)
        written = toTexts(Array.isArray(headers) ? toRecord(headers) : headers)
    })
    response.once('finish', () => {
      const headers = { ...toTexts(response.getHeaders()), ...written }
      check({ method, url, status: response.statusCode, headers, text: decode(Buffer.concat(chunks), headers) })
    })
  })
}

/** Calls a function with the arguments of each call of a method. */
function watch(target: object, method: string, see: (given: unknown[]) => void): void {
  const original: unknown = Reflect.get(target, method)
  if (typeof original !== 'function') throw new Error(`There is no method ${method}.`)
  Reflect.set(target, method, (...given: unknown[]) => {
    see(given)
    return Reflect.apply(original, target, given)
  })
}

const toRecord = (list: readonly unknown[]): Record<string, unknown> =>
  Object.fromEntries(
    list.flatMap((name, index) => (index % 2 === 0 ? [[String(name).toLowerCase(), list[index + 1]]] : [])),
  )

export const toTexts = (headers: object): Record<string, string | undefined> =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value === undefined ? value : String(value)]),
  )

const decoders: Record<string, (body: Buffer) => Buffer> = { br: brotliDecompressSync, gzip: gunzipSync }

/** Returns the text of a body, which may be compressed. */
export function decode(body: Buffer, headers: object): string {
  const decoder = decoders[String(Reflect.get(headers, 'content-encoding'))]
  return (decoder && body.length > 0 ? decoder(body) : body).toString()
}
