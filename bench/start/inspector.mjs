import { once } from 'node:events'
import { WebSocket } from 'undici'

export async function attachInspector(port) {
  const response = await fetch(`http://127.0.0.1:${port}/json/list`)
  const [{ webSocketDebuggerUrl }] = await response.json()
  const socket = new WebSocket(webSocketDebuggerUrl)
  await once(socket, 'open')
  const waiting = new Map()
  let last = 0
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = JSON.parse(data)
    const { resolve, reject } = waiting.get(id) ?? {}
    waiting.delete(id)
    if (error) reject?.(new Error(error.message))
    else resolve?.(result)
  })
  return {
    call: (method, params = {}) =>
      new Promise((resolve, reject) => {
        const id = ++last
        waiting.set(id, { resolve, reject })
        socket.send(JSON.stringify({ id, method, params }))
      }),
    close: () => socket.close(),
  }
}
