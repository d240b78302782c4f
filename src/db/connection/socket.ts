/**
 * Creates the sockets of a pool, for the option `socket` of postgres.js. The driver has no time limit for an answer, no
 * error when the server closes the connection, no pause after a failed start, and no `close`; these sockets add all
 * four.
 */
import { once } from 'node:events'
import { connect, isIP, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import type { Tls } from '#database-url'
import { DatabaseRefusedError, type SessionRequirements } from './session.ts'
import { checkSession } from './session-check.ts'

const tlsAnswerTimeoutMs = 4_000

/** The interval at which the time limits of running statements are checked, in milliseconds. */
const checkIntervalMs = 100

/**
 * The maximum time that counts between two checks, in milliseconds. A longer time counts as this time, because a
 * process that is busy or stopped cannot read an answer.
 */
const maxCountedMs = 500

/**
 * Pauses before a connection is opened again, in seconds: after a lost connection, after a failed start, and after a
 * refused session. The last is long, because each refused session costs a pooler and the server a connection.
 */
const reconnectPauses = { lost: 0.05, failedStart: 0.25, refused: 1 }

/** An open socket, and the progress of its statement. */
interface WatchedSocket {
  socket: Socket
  /** True from a statement until the server is ready for the next statement. */
  isBusy: boolean
  /** The bytes of a message whose end has not arrived; null when there are none. */
  rest: Buffer | null
  /** The time of the last check that ran before the server last sent data. */
  heardAt: number
  /** The time of the check that first saw the running statement; null when none runs. */
  busySince: number | null
}

/**
 * Makes the options `socket` and `backoff` of a pool.
 *
 * @param options `place`, `path` for a Unix socket; `tls`, ignored for a Unix socket as libpq does; `answerTimeoutMs`,
 * the time limit for the whole answer to a statement, in milliseconds, longer than the server's `statement_timeout`:
 * then the connection is closed; `session`, the requirements of each new session
 * @returns the options, and `close`, which closes all sockets and prevents new sockets
 */
export function poolSockets({
  place: { host, port, path },
  tls,
  answerTimeoutMs,
  session,
}: {
  place: { host: string; port: number; path?: string }
  tls: Tls
  answerTimeoutMs?: number | undefined
  session: SessionRequirements
}) {
  let nextPause = reconnectPauses.lost
  let isClosed = false
  const all = new Set<Socket>()
  const watched = new Set<WatchedSocket>()
  /**
   * A clock that only checks advance, in milliseconds: by the time since the former check, but by `maxCountedMs` at most.
   */
  let time = 0
  let checkedAt = 0
  let checking: NodeJS.Timeout | null = null

  /**
   * Emits an error instead of throwing it. The driver would ignore a thrown error, and never open that connection
   * again.
   */
  async function socket(): Promise<Socket> {
    if (isClosed) return failedSocket(databaseError('CONNECTION_ENDED', 'The pool is closed.'))
    const plain = path === undefined ? connect(port, host) : connect(path)
    keep(plain)
    failOnEnd(plain)
    try {
      const opened = tls.mode === 'disable' || path !== undefined ? plain : await startTls(plain, host, tls)
      // When an encrypted socket closes, it closes the TCP socket below it, which has no listeners.
      all.delete(plain)
      keep(opened)
      watch(opened)
      checkSession(opened, session)
      return opened
    } catch (error) {
      plain.destroy()
      nextPause = reconnectPauses.failedStart
      return failedSocket(error)
    }
  }

  function keep(open: Socket): void {
    all.add(open)
    open.on('close', () => all.delete(open))
  }

  function watch(opened: Socket): void {
    let started = false
    const state: WatchedSocket = { socket: opened, isBusy: true, rest: null, heardAt: time, busySince: time }
    opened.on('data', (chunk: Buffer) => {
      state.heardAt = time
      if (endsReady(state.rest && chunk.length < readyLength ? Buffer.concat([state.rest, chunk]) : chunk)) {
        state.isBusy = false
        state.rest = null
        state.busySince = null
        started = true
        nextPause = reconnectPauses.lost
        stopWhenIdle()
      } else if (state.isBusy) {
        // The server may send notices between statements, and stays ready.
        state.rest = chunk
      }
    })
    opened.on('close', () => {
      if (!started)
        nextPause =
          opened.errored instanceof DatabaseRefusedError ? reconnectPauses.refused : reconnectPauses.failedStart
      watched.delete(state)
      stopWhenIdle()
    })
    if (answerTimeoutMs === undefined) return
    watched.add(state)
    startChecking(answerTimeoutMs)
    const write = opened.write
    opened.write = (...args: unknown[]): boolean => {
      state.isBusy = true
      startChecking(answerTimeoutMs)
      return Reflect.apply(write, opened, args)
    }
  }

  function startChecking(limit: number): void {
    if (checking) return
    checkedAt = performance.now()
    checking = setInterval(() => check(limit), checkIntervalMs).unref()
  }

  /** Stops the timer, so that an idle process is not woken. */
  function stopWhenIdle(): void {
    for (const { isBusy } of watched) if (isBusy) return
    if (checking) clearInterval(checking)
    checking = null
  }

  function check(limit: number): void {
    const now = performance.now()
    time += Math.min(maxCountedMs, now - checkedAt)
    checkedAt = now
    for (const state of watched) {
      if (!state.isBusy) continue
      state.busySince ??= time
      if (time - state.busySince < limit) continue
      // Idle connections are closed too, because each of them could delay its next statement by the whole time limit.
      for (const idle of watched) if (idle.busySince === null && idle.heardAt < state.busySince) closeSilent(idle)
      // Emits the error after it has closed the other sockets. Otherwise the driver would send the next statement over
      // one of those sockets.
      setTimeout(closeSilent, 0, state)
    }
  }

  const closeSilent = ({ socket }: WatchedSocket) =>
    socket.destroy(databaseError('ETIMEDOUT', `The database has not answered in ${answerTimeoutMs} ms.`))

  function close(): void {
    isClosed = true
    for (const socket of all) socket.destroy(databaseError('CONNECTION_ENDED', 'The pool is closed.'))
  }

  return { socket, backoff: () => nextPause, close }
}

/** Emits an error when the server closes the connection, because the driver would repeat a failed start endlessly. */
function failOnEnd(socket: Socket): void {
  socket.on('end', () => socket.destroy(databaseError('CONNECTION_CLOSED', 'The database has closed the connection.')))
}

const databaseError = (code: string, message: string) => Object.assign(new Error(message), { code })

/** The number of bytes of ReadyForQuery: type (1), length (4) and state of the transaction (1). */
const readyLength = 6

/** Decides whether a chunk ends with ReadyForQuery, after which the server is silent until the next statement. */
function endsReady(chunk: Buffer): boolean {
  const start = chunk.length - readyLength
  return start >= 0 && chunk[start] === 0x5a && chunk.readUInt32BE(start + 1) === 5
}

/** The message SSLRequest: its length (8 bytes) and its code. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/** @throws Error when the server closes, does not answer in time, or refuses TLS that is required */
async function startTls(plain: Socket, host: string, { mode, options }: Tls): Promise<Socket> {
  const giveUp = () => plain.destroy(databaseError('CONNECT_TIMEOUT', 'The database does not answer.'))
  plain.setTimeout(tlsAnswerTimeoutMs, giveUp)
  plain.write(sslRequest)
  const [answer]: Buffer[] = await once(plain, 'data')
  plain.setTimeout(0, giveUp)
  // The answer to SSLRequest is one byte. Any further bytes came before the encryption began, so an attacker may have
  // sent them.
  const accepted = answer?.toString('latin1')
  if (accepted === 'N' && mode === 'prefer') return plain
  if (accepted !== 'S') {
    throw databaseError('CONNECTION_CLOSED', 'The database does not accept TLS, which sslmode in its URL requires.')
  }
  const name = isIP(host) ? {} : { servername: host }
  const encrypted = connectTls({ socket: plain, host, ...name, ...options })
  failOnEnd(encrypted)
  return encrypted
}

/** Returns a socket that emits the error as soon as the driver listens. */
function failedSocket(error: unknown): Socket {
  const socket = new Socket()
  setImmediate(() => socket.destroy(error instanceof Error ? error : new Error(String(error))))
  return socket
}
