import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** How long a connection is read after its last answer, in milliseconds: long enough for the client to read the answer. */
const lingerTime = 2_000

/**
 * Closes the connection of each request that is answered before its body has arrived: the answer says
 * `Connection: close`, and the rest of the body is discarded, for at most two seconds (RFC 9112 §9.6). A request that
 * has arrived keeps its connection.
 */
export function closeUnfinishedRequests(app: FastifyInstance): void {
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    // An injected request has no such property.
    if (raw.complete !== false) {
      done(null, payload)
      return
    }
    // Node parses the body after the handlers have been called, even one that came with the headers, or an empty one.
    setImmediate(() => {
      if (!raw.complete) {
        reply.header('Connection', 'close')
        const { socket } = raw
        // Node calls this when the last answer is written, and would destroy the socket: the reset that follows when
        // unread bytes remain can delete the answer before the client has read it.
        socket.destroySoon = () => {
          raw.resume()
          closeLingering(socket)
        }
      }
      done(null, payload)
    })
  })
}

/** Ends what is sent, and destroys the socket when the client has closed it too, or after two seconds. */
export function closeLingering(socket: Socket): void {
  socket.end()
  // What is still received is not parsed: that would cost far more, and might find another request. Not at once, because
  // Node first has to resume a socket that it stopped while the body was not read.
  socket.resume()
  setImmediate(() => socket.removeAllListeners('data').on('data', () => {}))
  const timer = setTimeout(() => socket.destroy(), lingerTime).unref()
  socket.once('close', () => clearTimeout(timer))
}
