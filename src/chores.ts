import type { FastifyInstance } from 'fastify'
import type { Pool } from './db/connect.ts'
import type { TriggerWatch } from './db/triggers.ts'
import type { ClockWatch } from './domain/clock.ts'
import { forgetRedemptionTokens } from './domain/resolution.ts'
import { forgetSessions } from './domain/session.ts'
import type { TokenDirectory } from './domain/token-directory.ts'
import { forgetUsage, type UsageCounter } from './domain/usage.ts'

const second = 1000

/**
 * What the service does beside answering, for as long as it runs. A chore that fails is noted, and done again in
 * its turn.
 */
export function registerChores(
  app: FastifyInstance,
  pool: Pool,
  {
    tokens,
    clock,
    usage,
    triggers,
  }: { tokens: TokenDirectory; clock: ClockWatch; usage: UsageCounter; triggers: TriggerWatch },
): void {
  const timers: NodeJS.Timeout[] = []
  const every = (interval: number, what: string, work: () => Promise<unknown>) => {
    const run = () => work().catch(error => app.log.warn({ err: error }, `failed: ${what}`))
    timers.push(setInterval(run, interval).unref())
    return run
  }

  every(second, 'look at the clock of the database', clock.look)
  void every(60 * second, 'check the triggers of the database', triggers.look)()
  void every(3600 * second, 'forget old redemption tokens', () => forgetRedemptionTokens(pool))()
  void every(3600 * second, 'forget old sessions', () => forgetSessions(pool))()
  void every(3600 * second, 'forget what tokens were used for', () => forgetUsage(pool))()
  const saves = [
    every(5 * second, 'save when tokens were last used', tokens.saveUse),
    every(2 * second, 'save what tokens were used for', usage.save),
  ]

  app.addHook('onClose', async () => {
    for (const timer of timers) clearInterval(timer)
    await Promise.all(saves.map(save => save()))
  })
}
