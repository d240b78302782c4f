import { connect } from 'node:net'

/** Opens a connection to a service on this machine, and collects the received bytes. */
export function openSocket(port: number, options: { allowHalfOpen?: boolean } = {}) {
  const socket = connect({ port, host: '127.0.0.1', ...options })
  let text = ''
  // Errors are ignored, because bytes that arrive after the close cause a reset.
  socket.on('error', () => {})
  socket.setEncoding('latin1').on('data', chunk => {
    text += chunk
  })
  return { socket, received: () => text, closed: new Promise<void>(resolve => socket.once('close', () => resolve())) }
}

/** Writes the head of a GET request for JSON with a token. */
export const headOf = (path: string, secret: string) =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nAuthorization: Bearer ${secret}\r\n\r\n`
