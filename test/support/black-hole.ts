/** A server behind a firewall that drops packets: no connection is made, and none is refused. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { afterFile } from './cleanups.ts'

/** A process that listens, and is stopped: it accepts nothing. */
const listener = `
  const server = require('node:net').createServer().listen({ host: '127.0.0.1', port: 0, backlog: 1 }, () => {
    process.stdout.write(String(server.address().port), () => process.kill(process.pid, 'SIGSTOP'))
  })`

/** Starts one. Its queue of connections is full, so the kernel drops all further packets. @returns its port */
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
