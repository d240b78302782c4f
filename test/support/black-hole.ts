/** Simulates a server behind a firewall that drops packets: a connection is neither accepted nor refused. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterFile } from './cleanups.ts'

/** A process that listens and is then suspended, so that it accepts no connection. */
const listener = `
  const server = require('node:net').createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
    process.stdout.write(String(server.address().port), () => process.kill(process.pid, 'SIGSTOP'))
  })`

/** Starts one. Fills its queue of connections, so that the kernel drops all further packets. @returns its port */
export async function startBlackHole(): Promise<number> {
  const child = spawn(process.execPath, ['-e', listener], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [chunk] = await once(child.stdout, 'data')
  const port = Number(chunk)
  const fillers = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  afterFile(() => {
    for (const filler of fillers) filler.destroy()
    child.kill('SIGKILL')
  })
  return port
}
