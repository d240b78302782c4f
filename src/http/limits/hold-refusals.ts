/** The minimum and the maximum wait of a refusal, in milliseconds, both below the deadline of an answer. */
const waitMs = { min: 500, max: 4_000 }

/**
 * The time between two refusals, in milliseconds, while few refusals wait. It becomes shorter when more refusals wait.
 */
const gapMs = 1

/** The maximum number of refusals that wait. Each waiting refusal keeps a connection and some kilobytes. */
const maxWaiting = 20_000

const intervalMs = 20

/**
 * Creates a function that delays a refusal by half a second, or by more when there are more than some 1,000 refusals
 * per second. Without this delay, callers that retry immediately use up the processor.
 *
 * @param isStopping returns true when the service is about to stop, so that no refusal waits
 * @returns a function that runs `send` in order after 0.5 to 4 s, or immediately when too many wait
 */
export function createRefusalHold(isStopping: () => boolean): (send: () => void) => void {
  const waiting: { due: number; send: () => void }[] = []
  let timer: NodeJS.Timeout | null = null
  let lastDue = 0

  function sendDue(): void {
    const now = performance.now()
    const early = isStopping() ? -1 : waiting.findIndex(({ due }) => due > now)
    const sent = waiting.splice(0, early === -1 ? waiting.length : early)
    if (waiting.length === 0 && timer) {
      clearInterval(timer)
      timer = null
    }
    for (const { send } of sent) send()
  }

  return send => {
    if (waiting.length >= maxWaiting) {
      setImmediate(send)
      return
    }
    const now = performance.now()
    // The more refusals wait, the shorter the gap between them, so that no refusal waits longer than the maximum.
    const gap = (gapMs * (now + waitMs.max - lastDue)) / (waitMs.max - waitMs.min)
    lastDue = Math.max(now + waitMs.min, lastDue + gap)
    waiting.push({ due: lastDue, send })
    timer ??= setInterval(sendDue, intervalMs)
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    holdRefusal(send: () => void): void
  }
}
