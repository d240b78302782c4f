/**
 * Checks each new connection before the driver runs its first statement: postgres.js has no hook for such a check, but
 * each byte of its connections passes through a socket of this service. The socket holds back the ReadyForQuery that
 * ends the startup phase, and runs the check. If the check succeeds, the driver gets the ReadyForQuery; otherwise the
 * socket fails with the reason.
 *
 * The check of a session with a role runs in an open transaction, except for one statement that a pooler may route to a
 * standby. When a client disconnects during a transaction, a pooler also closes its connection to the server, so no
 * other client gets a session that the check refused. The check of a session without a role is one message.
 */
import type { Socket } from 'node:net'
import {
  pathStatement,
  requireSession,
  routeStatement,
  type SessionRequirements,
  safePathStatement,
  sessionCheckEnd,
  sessionStatement,
  settingsStatement,
} from './session.ts'

/** The types of messages: https://www.postgresql.org/docs/current/protocol-message-formats.html */
const messageTypes = { readyForQuery: 0x5a, dataRow: 0x44, errorResponse: 0x45, parameterStatus: 0x53 }

/**
 * Lets the socket check the session before the driver can use the connection.
 *
 * @param socket a connected socket, to which the driver does not listen yet. When the session does not meet the
 * requirements, the socket is destroyed with a `DatabaseRefusedError`
 */
export function checkSession(socket: Socket, required: SessionRequirements): void {
  const emit = socket.emit
  const parameters = new Map<string, string>()
  let buffered = Buffer.alloc(0)
  let step: 'starting' | 'routing' | 'reading' | 'ending' = 'starting'
  const row: (string | null)[] = []
  let isRouted = false
  let failed = false

  const toDriver = (data: Buffer) => Reflect.apply(emit, socket, ['data', data])
  const send = (statement: string) => {
    const text = Buffer.from(`${statement}\0`)
    const head = Buffer.from('Q\0\0\0\0')
    head.writeUInt32BE(4 + text.length, 1)
    socket.write(Buffer.concat([head, text]))
  }

  /**
   * Returns true for a message that the driver must get, because the driver answers requests to authenticate, and
   * throws errors.
   */
  function take(type: number | undefined, body: Buffer): boolean {
    if (type === messageTypes.parameterStatus) {
      const [name = '', value = ''] = body.toString().split('\0')
      parameters.set(name, value)
    }
    if (type === messageTypes.errorResponse) failed = true
    if (type === messageTypes.dataRow) row.push(...readRow(body))
    if (type === messageTypes.readyForQuery) proceed()
    return step === 'starting' || type === messageTypes.errorResponse || type === messageTypes.parameterStatus
  }

  function proceed(): void {
    if (failed) {
      socket.destroy()
    } else if (step === 'starting') {
      step = required.role === undefined ? 'reading' : 'routing'
      send(required.role === undefined ? settingsStatement(required) : routeStatement)
    } else if (step === 'routing') {
      isRouted = row.pop() === 'on'
      step = 'reading'
      send(`begin; ${pathStatement}; ${safePathStatement}; ${sessionStatement}`)
    } else if (step === 'reading') {
      requireSession(row, parameters, required, isRouted)
      step = 'ending'
      if (required.role === undefined) giveBack()
      else send(sessionCheckEnd(row, required))
    } else {
      giveBack()
    }
  }

  function giveBack(): void {
    Reflect.deleteProperty(socket, 'emit')
    toDriver(readyMessage)
  }

  socket.emit = (event: string | symbol, ...args: unknown[]): boolean => {
    const [data] = args
    if (event !== 'data' || !Buffer.isBuffer(data)) return Reflect.apply(emit, socket, [event, ...args])
    buffered = Buffer.concat([buffered, data])
    try {
      while (buffered.length >= 5 && !socket.destroyed) {
        const length = 1 + buffered.readUInt32BE(1)
        if (buffered.length < length) break
        const whole = buffered.subarray(0, length)
        buffered = buffered.subarray(length)
        if (take(whole[0], whole.subarray(5))) toDriver(whole)
      }
    } catch (error) {
      socket.destroy(error instanceof Error ? error : new Error(String(error)))
    }
    return true
  }
}

/** ReadyForQuery outside a transaction. */
const readyMessage = Buffer.from([messageTypes.readyForQuery, 0, 0, 0, 5, 0x49])

/** Reads the columns of a DataRow: their number, and for each its length (-1 for null) and its text. */
function readRow(body: Buffer): (string | null)[] {
  let at = 2
  return Array.from({ length: body.readUInt16BE(0) }, () => {
    const length = body.readInt32BE(at)
    at += 4
    if (length < 0) return null
    at += length
    return body.toString('utf8', at - length, at)
  })
}
