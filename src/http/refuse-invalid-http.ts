/**
 * Refuses requests that Node's parser accepts although RFC 9112 does not: a proxy before the service may read them as
 * another request, or as two.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { invalidHttp } from './client-error.ts'
import { closeAfterResponse } from './lingering-close.ts'
import { recordError } from './request-count.ts'

/** `uri-host [ ":" port ]` (RFC 9110 §7.2). It is empty when the client's URL has no host. */
const hostValue = /^(\[[\da-f:.]+\]|([\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(:\d*)?$/i

/** A fragment, or a URL without a host: no target has either (RFC 9112 §3.2, RFC 9110 §4.2.1). */
const invalidTarget = /#|^https?:\/\/([:/?]|$)/i

/** Answers such a request with 400, as `client-error.ts` does those that the parser rejects, and closes its connection. */
export function refuseInvalidHttp(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { raw, originalUrl } = request
    // A target with a host replaces the header (RFC 9112 §3.2.2).
    const named = /^https?:\/\/([^/?#]*)/i.exec(originalUrl)?.[1]
    const hosts = [raw.headers.host ?? '', named ?? '']
    const isValid = !invalidTarget.test(originalUrl) && hosts.every(host => hostValue.test(host))
    if (isValid && hasKnownFraming(raw) && hasOneHost(raw)) {
      if (named !== undefined) raw.headers.host = named
      done()
      return
    }
    recordError(request, { code: 'BAD_REQUEST', reason: invalidHttp.message })
    closeAfterResponse(reply)
    reply.code(400).send({ message: invalidHttp.message })
  })
}

/** RFC 9112 §2.3 and §6.1: HTTP/1.0 has no `Transfer-Encoding`, and of its codings only `chunked` is known here. */
function hasKnownFraming({ httpVersion, headers: { 'transfer-encoding': coding } }: IncomingMessage): boolean {
  if (httpVersion === '1.0') return coding === undefined
  return httpVersion === '1.1' && (coding === undefined || coding.toLowerCase() === 'chunked')
}

/** RFC 9112 §3.2. `headers` has only the first of several lines of `Host`. */
function hasOneHost({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  let lines = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') lines++
  }
  return lines === 1 || (lines === 0 && httpVersion === '1.0')
}
