import { setTimeout as pause } from 'node:timers/promises'

/**
 * Asks, as a busy integration does, until the answer is the wanted one. Fails for another answer to a question that was
 * asked later than a second from now: a slow machine delays the answers, too.
 */
export async function withinASecond<Answer>(ask: () => Promise<Answer>, wanted: Answer): Promise<void> {
  const deadline = performance.now() + 1_000
  for (;;) {
    const sent = performance.now()
    const answer = await ask()
    if (answer === wanted) return
    if (sent > deadline) throw new Error(`still ${answer}, not ${wanted}`)
    await pause(20)
  }
}
