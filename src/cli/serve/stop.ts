import type { FastifyBaseLogger, FastifyInstance } from 'fastify'

/**
 * The maximum time of a stop after the delay, in milliseconds. Then the process ends, even if requests or jobs still
 * run. The limits of its steps are 5.5 s for requests (http/limits/draining.ts), 1 s for jobs (background-jobs.ts), 0.5
 * s for rates (open-gateway.ts) and 1 s for pools (database.ts).
 */
const stopTimeoutMs = 9_500

/** Waits until SIGINT or SIGTERM arrives. @returns its name */
export const waitForSignal = () =>
  new Promise<string>(resolve => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, resolve)
  })

/** Ends the process immediately when another signal arrives. */
export function endAtSecondSignal(): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
}

/**
 * Starts the timer that ends the process when a stop takes too long, for any reason.
 *
 * @param delay seconds for which the service still accepts connections
 */
export function exitAfterStopTimeout(log: Pick<FastifyBaseLogger, 'error'>, delay: number): void {
  setTimeout(
    () => {
      log.error('the service did not stop in time and ends now')
      process.exit(1)
    },
    delay * 1000 + stopTimeoutMs,
  ).unref()
}

/**
 * Stops the service after a signal. During the delay `/readyz` answers 503, and each answer closes its connection.
 * After the delay the service stops listening; the function returns when all requests have ended. The process ends when
 * the stop, together with the caller's work after it, takes too long.
 *
 * @param delay seconds for which connections are still accepted, so that load balancers notice `/readyz`
 * @param reason the signal, for the log
 */
export async function stopService(app: FastifyInstance, delay: number, reason: string): Promise<void> {
  app.log.info({ reason, delay }, 'the service stops')
  exitAfterStopTimeout(app.log, delay)
  await app.drain(delay * 1000)
  await app.close()
  app.log.info('the service has stopped')
}
