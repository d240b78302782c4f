/**
 * The process that sends a load. In an open loop, requests are sent at a fixed rate, however slow the answers are, and
 * a latency counts from the planned time of the request. In a closed loop, each connection sends the next request after
 * each answer. The process writes and parses HTTP itself, because Node's client needs more time than most requests of
 * the service.
 */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import type { GeneratedRequest, LoadOrder, LoadReport } from './load-generator.ts'

interface Connection {
  socket: Socket
  intended: number
  /** The bytes of an answer, as long as its head is incomplete. */
  head: Buffer
  /** The number of bytes of the answer that have not arrived; -1 before the head is complete. */
  rest: number
  status: number
  retryAfter: boolean
  closes: boolean
}

const noBytes = Buffer.alloc(0)

/**
 * The maximum number of connections that are opened at a time before the load begins. More might overflow the listen
 * queue of the service.
 */
const openedAtOnce = 256

async function run({ port, rate, seconds, requests, connections, reconnects = false }: LoadOrder): Promise<LoadReport> {
  const texts = requests.map(request => textOf(request, port))
  const idle: Connection[] = []
  /**
   * The planned times of the requests, in ascending order. The requests from the index `taken` on wait for a
   * connection.
   */
  const due: number[] = []
  const report: LoadReport = {
    ...{ sent: 0, lost: 0, unanswered: 0, withoutRetryAfter: 0, lag: 0 },
    ...{ latencies: {}, successes: [] },
  }
  let taken = 0
  let open = 0
  let answered = 0
  let start = Number.POSITIVE_INFINITY
  let end = Number.POSITIVE_INFINITY

  function finish(connection: Connection): void {
    const now = performance.now()
    const took = now - connection.intended
    const status = String(connection.status)
    report.latencies[status] ??= []
    report.latencies[status].push(took)
    if (connection.status === 200) report.successes.push([connection.intended - start, took])
    if (connection.status === 503 && !connection.retryAfter) report.withoutRetryAfter++
    answered++
    connection.intended = 0
    connection.rest = -1
    if (rate === null && now < end) due.push(now)
    if (connection.closes || reconnects) connection.socket.destroy()
    else sendNext(connection)
  }

  function read(connection: Connection, chunk: Buffer): void {
    if (connection.rest < 0) {
      const begin = connection.head.length > 0 ? Buffer.concat([connection.head, chunk]) : chunk
      const end = begin.indexOf('\r\n\r\n')
      connection.head = end === -1 ? begin : noBytes
      if (end === -1) return
      const head = begin.toString('latin1', 0, end).toLowerCase()
      connection.status = Number(head.slice(9, 12))
      connection.retryAfter = head.includes('\r\nretry-after: ')
      connection.closes = head.includes('\r\nconnection: close')
      const length = Number(/\r\ncontent-length: (\d+)/.exec(head)?.[1] ?? 0)
      connection.rest = length - (begin.length - end - 4)
    } else {
      connection.rest -= chunk.length
    }
    if (connection.rest === 0) finish(connection)
  }

  function openConnection(): Connection {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const connection = { socket, intended: 0, head: noBytes, rest: -1, status: 0, retryAfter: false, closes: false }
    open++
    socket.on('data', chunk => read(connection, chunk))
    socket.on('error', () => {})
    socket.on('close', () => {
      open--
      if (connection.intended > 0) {
        report.lost++
        answered++
      }
      const place = idle.indexOf(connection)
      if (place >= 0) idle.splice(place, 1)
      if (taken < due.length) sendNext(openConnection())
    })
    return connection
  }

  /** Sends the oldest waiting request; without one, the connection becomes idle. */
  function sendNext(connection: Connection): void {
    const intended = due[taken]
    if (intended === undefined) {
      idle.push(connection)
      return
    }
    taken++
    connection.intended = intended
    connection.socket.write(texts[report.sent++ % texts.length] ?? '')
  }

  /** Sends a request on an idle connection, or on a new connection below the limit. */
  function send(intended: number): void {
    const connection = idle.pop() ?? (open < connections ? openConnection() : null)
    if (!connection) return
    due.push(intended)
    sendNext(connection)
  }

  while (!reconnects && open < connections) {
    const opened = Array.from({ length: Math.min(openedAtOnce, connections - open) }, openConnection)
    await Promise.all(opened.map(({ socket }) => once(socket, 'connect')))
    idle.push(...opened)
  }
  start = performance.now()
  end = start + seconds * 1_000
  for (let caller = 0; rate === null && caller < connections; caller++) send(start)
  let next = rate === null ? end : start
  let ticked = start
  for (let now = start; now < end || (answered < due.length && now < end + 10_000); now = performance.now()) {
    report.lag = Math.max(report.lag, now - ticked)
    ticked = now
    for (; next <= now && next < end; next += 1_000 / (rate ?? 0)) send(next)
    await pause(1)
  }
  for (const connection of idle) connection.socket.destroy()
  report.unanswered = due.length - answered
  return report
}

function textOf({ method, path, secret, body }: GeneratedRequest, port: number): string {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, 'Accept: application/json']
  if (secret !== undefined) lines.push(`Authorization: Bearer ${secret}`)
  if (body !== undefined) lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`
}

process.on('message', async (order: LoadOrder) => process.send?.(await run(order)))
