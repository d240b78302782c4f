/**
 * The sockets of a pool, which postgres.js takes as its option `socket`. They add what the driver lacks: a time limit
 * for a silent server, an error when the server closes, and a pause before a start that failed is tried again.
 */
import { once } from 'node:events'
import { connect, isIP, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'

/** What `sslmode` of a database URL asks for; `verify` checks the server's certificate. */
export type TlsMode = 'disable' | 'prefer' | 'require' | 'verify'

/** The parsed options with which the driver asks for a socket. */
interface Target {
  host: [string, ...string[]]
  port: [number, ...number[]]
  /** Of a Unix socket; false for TCP. */
  path: string | false
}

/** Time in which the server has to say whether it accepts TLS, in milliseconds. */
const tlsAnswerTimeoutMs = 5_000

/** Pauses before a connection is opened again, in seconds: after a lost connection, and after a failed start. */
const pause = { lost: 0.05, failedStart: 0.25 }

/**
 * Makes the options `socket` and `backoff` of a pool.
 *
 * @param options `tls`, ignored for a Unix socket as libpq does; `silenceTimeoutMs` without a byte after which a
 *   connection with a statement under way is closed, in milliseconds: longer than the server's `statement_timeout`
 */
export function poolSockets({ tls, silenceTimeoutMs }: { tls: TlsMode; silenceTimeoutMs?: number | undefined }) {
  let startFailed = false

  /** The driver ignores an error thrown here and loses the connection's place in the pool: errors are emitted. */
  async function socket({ host: [host], port: [port], path }: Target): Promise<Socket> {
    const plain = path === false ? connect(port, host) : connect(path)
    failOnEnd(plain)
    try {
      const opened = tls === 'disable' || path !== false ? plain : await startTls(plain, host, tls)
      watch(opened)
      return opened
    } catch (error) {
      plain.destroy()
      startFailed = true
      return failing(error)
    }
  }

  function watch(opened: Socket): void {
    let started = false
    /** `bytesWritten` when the server last was ready for a statement; -1 while it answers. */
    let writtenWhenReady = -1
    opened.on('data', (chunk: Buffer) => {
      if (endsReady(chunk)) {
        writtenWhenReady = opened.bytesWritten
        started = true
        startFailed = false
      } else if (opened.bytesWritten !== writtenWhenReady) {
        // Between statements the server may send notices: it stays ready.
        writtenWhenReady = -1
      }
    })
    opened.on('close', () => {
      if (!started) startFailed = true
    })
    if (silenceTimeoutMs === undefined) return
    opened.setTimeout(silenceTimeoutMs)
    // Not as the callback of setTimeout, which is called once: a connection may be idle many times.
    opened.on('timeout', () => {
      if (opened.bytesWritten === writtenWhenReady) return
      opened.destroy(databaseError('ETIMEDOUT', `The database has sent nothing for ${silenceTimeoutMs} ms.`))
    })
  }

  return { socket, backoff: () => (startFailed ? pause.failedStart : pause.lost) }
}

/** Makes the end of the server's data an error: the driver tries a start that ends without one again, for ever. */
function failOnEnd(socket: Socket): void {
  socket.on('end', () => socket.destroy(databaseError('CONNECTION_CLOSED', 'The database has closed the connection.')))
}

const databaseError = (code: string, message: string) => Object.assign(new Error(message), { code })

/**
 * Decides whether a chunk ends with ReadyForQuery, after which the server is silent until the next statement. The
 * message is its type, its length and the state of the transaction.
 */
function endsReady(chunk: Buffer): boolean {
  const start = chunk.length - 6
  return start >= 0 && chunk[start] === 0x5a && chunk.readUInt32BE(start + 1) === 5
}

/** SSLRequest: its length and its code. */
const sslRequest = Buffer.from([0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f])

/** @throws Error when the server closes, does not answer in time, or refuses TLS that is required */
async function startTls(plain: Socket, host: string, mode: TlsMode): Promise<Socket> {
  const giveUp = () => plain.destroy(databaseError('CONNECT_TIMEOUT', 'The database does not answer.'))
  plain.setTimeout(tlsAnswerTimeoutMs, giveUp)
  plain.write(sslRequest)
  const [answer]: Buffer[] = await once(plain, 'data')
  plain.setTimeout(0, giveUp)
  // The answer is one byte. More were sent ahead of the encryption, by anyone.
  const accepted = answer?.toString('latin1')
  if (accepted === 'N' && mode === 'prefer') return plain
  if (accepted !== 'S') {
    throw databaseError('CONNECTION_CLOSED', 'The database does not accept TLS, which sslmode in its URL requires.')
  }
  const name = isIP(host) ? {} : { servername: host }
  const encrypted = connectTls({ socket: plain, host, ...name, rejectUnauthorized: mode === 'verify' })
  failOnEnd(encrypted)
  return encrypted
}

/** @returns a socket that fails with the error once the driver listens */
function failing(error: unknown): Socket {
  const socket = new Socket()
  setImmediate(() => socket.destroy(error instanceof Error ? error : new Error(String(error))))
  return socket
}
