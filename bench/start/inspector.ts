import { once } from 'node:events'
import { WebSocket } from 'undici'

/** The inspector of another Node process. */
export interface Inspector {
  /** @returns the result of a method of the inspector's protocol */
  call(method: string, params?: object): Promise<Record<string, unknown>>
  close(): void
}

/** Attaches to a process that runs with `--inspect`. */
export async function attachInspector(port: number): Promise<Inspector> {
  const [target]: { webSocketDebuggerUrl: string }[] = await (await fetch(`http://127.0.0.1:${port}/json/list`)).json()
  const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '')
  await once(socket, 'open')
  const waiting = new Map<number, { resolve(result: Record<string, unknown>): void; reject(error: Error): void }>()
  socket.addEventListener('message', ({ data }) => {
    const { id, result, error } = JSON.parse(String(data))
    if (error) waiting.get(id)?.reject(new Error(error.message))
    else waiting.get(id)?.resolve(result)
  })
  let last = 0
  return {
    call(method, params = {}) {
      const id = ++last
      socket.send(JSON.stringify({ id, method, params }))
      return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }))
    },
    close: () => socket.close(),
  }
}
