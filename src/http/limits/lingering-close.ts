import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'

/**
 * The time for which a connection is still read after its last response, in milliseconds, so that the client can read
 * the response.
 */
const lingerTime = 2_000

/**
 * Closes the connection of each request that is answered before its body has arrived: the response has `Connection:
 * close`, and the rest of the body is discarded for at most two seconds (RFC 9112 §9.6). When the whole request has
 * arrived, the connection stays open.
 */
export function closeUnfinishedRequests(app: FastifyInstance): void {
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    // A request of Fastify's `inject` has no property `complete`.
    if (raw.complete !== false) {
      done(null, payload)
      return
    }
    // Node parses the body after it has called the handlers, even a body that arrived with the headers, or is empty.
    setImmediate(() => {
      if (!raw.complete) {
        reply.header('Connection', 'close')
        const { socket } = raw
        // Node calls this function after the last response, and would destroy the socket in it. If the socket has
        // unread bytes, destroying it sends a reset, which can delete the response before the client has read it.
        socket.destroySoon = () => {
          raw.resume()
          closeLingering(socket)
        }
      }
      done(null, payload)
    })
  })
}

/**
 * Closes the connection after the response. Bytes that arrive during the close cause no reset, which could delete the
 * response.
 */
export function closeAfterResponse(reply: FastifyReply): void {
  const { socket } = reply.header('Connection', 'close').request.raw
  socket.destroySoon = () => closeLingering(socket)
}

/**
 * Closes a connection like nginx's `lingering_close`: ends the sending side, discards arriving bytes, and destroys the
 * socket when the client has closed it, or after two seconds.
 */
export function closeLingering(socket: Socket): void {
  socket.end()
  // Bytes that still arrive are not parsed: parsing costs far more and might find another request. The listeners are
  // removed one tick later, because Node first has to resume a socket that it paused while the body was not read.
  socket.resume()
  setImmediate(() => socket.removeAllListeners('data').on('data', () => {}))
  const timer = setTimeout(() => socket.destroy(), lingerTime).unref()
  socket.once('close', () => clearTimeout(timer))
}
