/** How long a refusal waits, in milliseconds: at least, and at most, which is less than the deadline of an answer. */
const waitMs = { min: 500, max: 4_000 }

/** How many refusals are sent in a millisecond while none has waited for long: 1,000 a second. */
const rate = 1

/** The most refusals that wait. Each keeps a connection and some kilobytes. */
const maxWaiting = 20_000

/** How often refusals are sent, in milliseconds. */
const intervalMs = 20

/** A refusal that waits. */
interface Held {
  at: number
  send: () => void
}

/**
 * Makes a function that holds a refusal before it is sent: for half a second, or longer when more than 1,000 a second
 * would be sent. Without that, callers that repeat at once use up the processor.
 *
 * @param isStopping whether the service is about to stop: then none waits
 * @returns a function that runs `send` in order after 0.5 to 4 s, or at once when too many wait
 */
export function createRefusalHold(isStopping: () => boolean): (send: () => void) => void {
  let waiting: Held[] = []
  let timer: NodeJS.Timeout | null = null
  let sentAt = 0

  /** Returns how many are sent now. A busy event loop runs this late. */
  function countDue(now: number): number {
    if (isStopping()) return waiting.length
    const most = (now - sentAt) * Math.max(rate, waiting.length / (waitMs.max - waitMs.min))
    const early = waiting.findIndex(({ at }, index) => index >= most || now - at < waitMs.min)
    return early === -1 ? waiting.length : early
  }

  function sendSome(): void {
    const now = performance.now()
    const due = waiting.slice(0, countDue(now))
    waiting = waiting.slice(due.length)
    sentAt = now
    if (waiting.length === 0 && timer) {
      clearInterval(timer)
      timer = null
    }
    for (const { send } of due) send()
  }

  return send => {
    if (waiting.length >= maxWaiting) {
      setImmediate(send)
      return
    }
    const at = performance.now()
    waiting.push({ at, send })
    if (timer) return
    sentAt = at
    timer = setInterval(sendSome, intervalMs)
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Holds a refusal before it is sent. */
    holdRefusal(send: () => void): void
  }
}
