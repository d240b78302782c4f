/** The primary process of `serve --workers`. It starts workers, and starts an ended worker again. */
import cluster, { type Worker } from 'node:cluster'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Logger, pino } from 'pino'
import type { Config } from '../../config/config.ts'
import { addressUrl } from '../../db/connection/connect.ts'
import type { WorkerCount } from '../../doctor/health.ts'
import { loggerOptions } from '../../log.ts'
import { createLogDestination } from '../../log-destination.ts'
import type { Database } from '../database/database.ts'
import { localOrigin } from './listen.ts'
import { exitAfterStopTimeout } from './stop.ts'
import { workerVariables } from './worker.ts'

/**
 * The wait before an ended worker is started again, in milliseconds. The wait doubles each time that a worker ends soon
 * after its start.
 */
const backOff = { first: 100, longest: 5000, resetAfter: 10_000 }

/**
 * The maximum time for workers to end before they are killed, in milliseconds. The primary closes its pools after the
 * workers have ended, and has 9.5 s for both (stop.ts).
 */
const stopTimeout = 7_700

/**
 * The maximum time until a worker listens, in milliseconds. After this time the worker is killed and started again.
 */
const startTimeout = 60_000

/** The parts of the demo that workers need; all null when the service is not the demo. */
export interface Demo {
  /** The secret of the demo's token. */
  demoToken: string | null
  /** The origin of the demo's platform. */
  demoPlatform: string | null
}

export interface RunningService {
  /** The origin at which this machine reaches the service. */
  origin: string
  /**
   * Stops all workers after their requests have finished, and returns when no worker runs.
   *
   * @param reason the signal, for the log
   */
  stop(reason: string): Promise<void>
}

/**
 * Starts workers that answer the requests of this service, and share its ports. A worker that ends is started again:
 * the first time immediately, and later after growing waits.
 *
 * @returns a promise that resolves when the first worker listens
 * @throws Error when the first worker ends before it listens
 */
export async function startPrimary(
  config: Config,
  database: Database,
  count: number,
  { demoToken, demoPlatform }: Demo,
): Promise<RunningService> {
  const { host, healthPort, metricsPort, shutdownDelay, logLevel } = config
  const destination = createLogDestination()
  const log = pino(loggerOptions(logLevel), destination)
  // The workers connect to the embedded server of the primary, so they do not start one.
  const environment = {
    DATABASE_URL: addressUrl(database.address),
    [workerVariables.demoToken]: demoToken ?? '',
    [workerVariables.demoPlatform]: demoPlatform ?? '',
  }
  const running = new Map<number, Worker>()
  const listening = new Set<number>()
  /**
   * True once a worker has listened. When the first worker ends before it listens, no other worker is started, because
   * the same cause would end it.
   */
  let served = false
  let stopping = false
  const countWorkers = () => ({ listening: listening.size, total: count })
  const metrics = metricsPort === undefined ? null : await openMetrics(config, database, log, countWorkers)

  /** Starts a worker. @returns the origin of the worker, once the worker listens */
  function start(number: number, wait = backOff.first): Promise<string> {
    const worker = cluster.fork({ ...environment, [workerVariables.number]: String(number) })
    const startedAt = performance.now()
    running.set(number, worker)
    const killing = setTimeout(() => worker.process.kill('SIGKILL'), startTimeout)
    relayLines(worker.process.stdout, line => destination.write(tagLine(number, line)))
    relayLines(worker.process.stderr, line => process.stderr.write(line))
    worker.on('error', error => log.warn({ err: error, worker: number }, 'a message to a worker failed'))
    return new Promise((resolve, reject) => {
      worker.on('listening', ({ port }) => {
        if (port === healthPort) return
        clearTimeout(killing)
        served = true
        listening.add(number)
        sendCount()
        resolve(localOrigin(host, port))
      })
      worker.once('exit', async (code, signal) => {
        clearTimeout(killing)
        running.delete(number)
        if (!served) return reject(new Error(`Worker ${number} ended before it listened (${signal ?? code}).`))
        if (stopping) return
        listening.delete(number)
        sendCount()
        const lived = performance.now() - startedAt
        const next = lived > backOff.resetAfter ? backOff.first : wait
        log.error({ worker: number, code, signal, wait: next }, 'a worker ended, and is started again')
        await sleep(next)
        if (!stopping) void start(number, Math.min(2 * next, backOff.longest))
      })
    })
  }

  function sendCount(): void {
    for (const worker of running.values()) if (worker.isConnected()) worker.send(countWorkers())
  }

  async function endWorkers(): Promise<void> {
    stopping = true
    const all = [...running.values()]
    const ended = Promise.all(all.map(worker => new Promise(resolve => worker.once('exit', resolve))))
    const killAll = (signal: NodeJS.Signals) => {
      for (const worker of all) worker.process.kill(signal)
    }
    killAll('SIGTERM')
    const killing = setTimeout(killAll, shutdownDelay * 1000 + stopTimeout, 'SIGKILL')
    await ended
    clearTimeout(killing)
    await metrics?.close()
  }

  cluster.setupPrimary({ silent: true })
  try {
    // The first worker starts alone, because an error that ends it would also end the other workers.
    const origin = await start(1)
    for (let number = 2; number <= count; number++) void start(number)
    return {
      origin,
      async stop(reason) {
        log.info({ reason, delay: shutdownDelay }, 'the service stops')
        exitAfterStopTimeout(log, shutdownDelay)
        await endWorkers()
        log.info('the service has stopped')
      },
    }
  } catch (error) {
    await endWorkers()
    throw error
  }
}

/** Serves the metrics of the workers. Must be called before the first worker starts. */
async function openMetrics(config: Config, database: Database, log: Logger, countWorkers: () => WorkerCount) {
  const { gatherMetrics } = await import('./gather-metrics.ts')
  const { serveMetrics } = await import('./metrics.ts')
  const report = (err: unknown) => log.warn({ err }, 'the metrics of the database are absent')
  return serveMetrics(config, database, gatherMetrics(countWorkers), report)
}

/** Adds the number of the worker to a line of the worker's log. */
const tagLine = (worker: number, line: string) =>
  line.startsWith('{"') ? `{"worker":${worker},${line.slice(1)}` : `worker ${worker}: ${line}`

/** Writes whole lines, and the last line even without a line break. */
function relayLines(stream: Readable | null, write: (line: string) => void): void {
  let rest = ''
  stream?.setEncoding('utf8')
  stream?.on('data', (text: string) => {
    const [first = '', ...others] = text.split('\n')
    const lines = [rest + first, ...others]
    rest = lines.pop() ?? ''
    for (const line of lines) write(`${line}\n`)
  })
  stream?.on('end', () => {
    if (rest !== '') write(`${rest}\n`)
  })
}
