/**
 * The process of an open-loop load: requests are sent at a fixed rate, however slow the answers are, and a latency counts
 * from the time at which its request was to be sent. It speaks HTTP itself, because Node's client costs more than most
 * requests of the service.
 */
import { connect, type Socket } from 'node:net'
import type { OpenLoopOrder, OpenLoopReport, OpenLoopRequest } from './open-loop.ts'

/** A connection, with at most one request under way. */
interface Connection {
  socket: Socket
  intended: number
  /** The beginning of an answer, until its head is complete. */
  head: Buffer
  /** How many bytes of the answer are still to come; -1 before its head is complete. */
  rest: number
  status: number
  retryAfter: boolean
  closes: boolean
}

const noBytes = Buffer.alloc(0)

function run(
  { port, rate, seconds, requests, connections }: OpenLoopOrder,
  report: (result: OpenLoopReport) => void,
): void {
  const texts = requests.map(request => textOf(request, port))
  const idle: Connection[] = []
  /** When each request was to be sent that waits for a connection. */
  const due: number[] = []
  const latencies: Record<string, number[]> = {}
  const sentAnswers: [number, number][] = []
  let open = 0
  let sent = 0
  let answered = 0
  let lost = 0
  let withoutRetryAfter = 0
  const start = performance.now()

  function finish(connection: Connection): void {
    const took = performance.now() - connection.intended
    const status = String(connection.status)
    latencies[status] ??= []
    latencies[status].push(took)
    if (connection.status === 200) sentAnswers.push([connection.intended - start, took])
    if (connection.status === 503 && !connection.retryAfter) withoutRetryAfter++
    answered++
    connection.intended = 0
    connection.rest = -1
    if (connection.closes) connection.socket.destroy()
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
        lost++
        answered++
      }
      const place = idle.indexOf(connection)
      if (place >= 0) idle.splice(place, 1)
    })
    return connection
  }

  /** Sends the oldest request that waits, if there is one. */
  function sendNext(connection: Connection): void {
    const intended = due.shift()
    if (intended === undefined) {
      idle.push(connection)
      return
    }
    connection.intended = intended
    connection.socket.write(texts[sent++ % texts.length] ?? '')
  }

  let next = start
  let ticked = start
  let lag = 0
  const end = start + seconds * 1000
  const timer = setInterval(() => {
    const now = performance.now()
    lag = Math.max(lag, now - ticked)
    ticked = now
    for (; next <= now && next < end; next += 1000 / rate) {
      due.push(next)
      const connection = idle.pop() ?? (open < connections ? openConnection() : null)
      if (connection) sendNext(connection)
    }
    if (now < end || ((answered < sent || due.length > 0) && now < end + 10_000)) return
    clearInterval(timer)
    for (const connection of idle) connection.socket.destroy()
    const unanswered = sent - answered + due.length
    report({ sent, lost, unanswered, withoutRetryAfter, lag, latencies, successes: sentAnswers })
  }, 1)
}

function textOf({ method, path, secret, body }: OpenLoopRequest, port: number): string {
  const lines = [`${method} ${path} HTTP/1.1`, `Host: 127.0.0.1:${port}`, 'Accept: application/json']
  if (secret !== undefined) lines.push(`Authorization: Bearer ${secret}`)
  if (body !== undefined) lines.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`
}

process.on('message', (order: OpenLoopOrder) => run(order, report => process.send?.(report)))
