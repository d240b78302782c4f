/** A Redis server that a test kills and suspends. */
import { type ChildProcess, spawn } from 'node:child_process'
import { Redis } from 'ioredis'
import { afterFile } from './cleanups.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

/** Starts a server on a free port, and kills it after the tests of the file. The server does not save its data. */
export async function startRedis() {
  const port = await freePort()
  let child: ChildProcess | null = null
  const client = () => new Redis({ port, lazyConnect: true, retryStrategy: null, connectTimeout: 500 })

  const redis = {
    url: `redis://127.0.0.1:${port}/0`,

    /** Starts the server, and waits until it answers. */
    async start() {
      const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no']
      const started = spawn('redis-server', options, { stdio: 'ignore', cwd: '/' })
      child = started
      const failed = new Promise<never>((_, reject) =>
        started.once('error', error => reject(new Error('redis-server cannot be started', { cause: error }))),
      )
      await Promise.race([failed, untilReady(client)])
    },

    async kill() {
      if (child?.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise(resolve => child?.once('exit', resolve))
      child.kill('SIGKILL')
      await ended
    },

    /** Suspends the process. Its connections stay open. */
    freeze: () => child?.kill('SIGSTOP'),
    thaw: () => child?.kill('SIGCONT'),

    /** Returns the number of calls of each command. */
    async countCommands(): Promise<Record<string, number>> {
      const admin = client()
      const text = await admin.info('commandstats').finally(() => admin.disconnect())
      return Object.fromEntries(
        [...text.matchAll(/^cmdstat_([\w|]+):calls=(\d+)/gm)].map(([, name, calls]) => [name, Number(calls)]),
      )
    },
  }
  afterFile(redis.kill)
  await redis.start()
  return redis
}

const untilReady = (connect: () => Redis) =>
  until('redis-server answers', async () => {
    const client = connect().on('error', () => {})
    const answer = await client.ping().catch(() => null)
    client.disconnect()
    return answer
  })
