import { setTimeout as pause } from 'node:timers/promises'

/**
 * Repeats a request, like a busy integration, until the answer is the expected one. Fails when a request that is sent
 * after more than a second gets another answer: only the time of the request counts, because a slow machine delays
 * answers.
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
