/** Connections whose callers do not read while the kernel keeps the answers: for Node they are idle. */
import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/** The interval at which connections are compared with their earlier state, in milliseconds. */
const sweepMs = 5_000

/** After how long without progress a connection is reset, in milliseconds; two sweeps later at most. */
const limitMs = 35_000

/** The state of a connection at the last comparison. */
interface Seen {
  /** The bytes that were written to it. */
  written: number
  /** Those of them that the caller had not acknowledged. */
  unread: number
  /** When one of both last changed. */
  since: number
}

/**
 * Resets each connection whose caller has read nothing of its answers for 35 to 45 seconds. How much the kernel still
 * keeps is known on Linux only; elsewhere such a connection is closed as an idle one.
 *
 * @param sockets the open connections
 */
export function closeUnread(app: FastifyInstance, sockets: ReadonlySet<Socket>): void {
  const seen = new WeakMap<Socket, Seen>()

  async function sweep(): Promise<void> {
    const now = performance.now()
    const still: [Socket, Seen][] = []
    for (const socket of sockets) {
      const state = seen.get(socket)
      const written = socket.bytesWritten
      if (state?.written !== written) seen.set(socket, { written, unread: 0, since: now })
      else if (written > 0) still.push([socket, state])
    }
    if (still.length === 0) return
    const queues = await readQueues()
    for (const [socket, state] of still) {
      const unread = queues.get(portsOf(socket)) ?? 0
      if (unread === 0 || unread !== state.unread) Object.assign(state, { unread, since: now })
      else if (now - state.since >= limitMs) socket.resetAndDestroy()
    }
  }

  const timer = setInterval(sweep, sweepMs).unref()
  app.addHook('onClose', async () => clearInterval(timer))
}

/** Returns how many bytes the kernel keeps for the reader of a connection; on Linux only, elsewhere 0. */
export const unreadBytes = async (socket: Socket): Promise<number> => (await readQueues()).get(portsOf(socket)) ?? 0

const portsOf = ({ localPort, remotePort }: Socket) => `${localPort} ${remotePort}`

/** The ports and the send queue of an established connection: proc_pid_net(5). */
const connection = /^ *\d+: [\dA-F]+:([\dA-F]{4}) [\dA-F]+:([\dA-F]{4}) 01 ([\dA-F]{8}):/gm

/**
 * Reads how many bytes of each connection of this machine are not acknowledged, by its two ports. Of connections from
 * different addresses with the same ports the least counts.
 */
async function readQueues(): Promise<Map<string, number>> {
  const queues = new Map<string, number>()
  for (const table of ['tcp', 'tcp6']) {
    const text = await readFile(`/proc/net/${table}`, 'latin1').catch(() => '')
    for (const [, local = '', remote = '', queue = ''] of text.matchAll(connection)) {
      const ports = `${Number.parseInt(local, 16)} ${Number.parseInt(remote, 16)}`
      const unread = Number.parseInt(queue, 16)
      queues.set(ports, Math.min(unread, queues.get(ports) ?? unread))
    }
  }
  return queues
}
