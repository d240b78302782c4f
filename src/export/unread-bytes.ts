import { readFile } from 'node:fs/promises'
import type { Socket } from 'node:net'

/** The ports and the send queue of an established connection: proc_pid_net(5). */
const connection = /^ *\d+: [\dA-F]+:([\dA-F]{4}) [\dA-F]+:([\dA-F]{4}) 01 ([\dA-F]{8}):/gm

/**
 * Reads how many bytes the kernel keeps for the reader of a connection; on Linux only, elsewhere 0. When several
 * connections have the same ports, the smallest value counts.
 */
export async function unreadBytes({ localPort, remotePort }: Socket): Promise<number> {
  const queues: number[] = []
  for (const table of ['tcp', 'tcp6']) {
    const text = await readFile(`/proc/net/${table}`, 'latin1').catch(() => '')
    for (const [, local = '', remote = '', queue = ''] of text.matchAll(connection)) {
      const isThis = Number.parseInt(local, 16) === localPort && Number.parseInt(remote, 16) === remotePort
      if (isThis) queues.push(Number.parseInt(queue, 16))
    }
  }
  return queues.length > 0 ? Math.min(...queues) : 0
}
