/** Reports webhooks of the token that do not work, which an integrator who also has a copy may not notice. */
import type { ReportEvent } from './report.ts'
import { codeOf } from './service-error.ts'
import type { Source } from './source.ts'
import type { Sync } from './sync.ts'

/** The interval at which a watch asks for webhooks, in milliseconds: each request spends a unit of the rate. */
const interval = 3_600_000

/** Reports each webhook that is failing or paused. @throws the errors of the client */
export async function reportWebhooks(source: Pick<Source, 'webhooks'>, report: ReportEvent): Promise<void> {
  for (const { url, state, failingSince, pausedAt } of await source.webhooks()) {
    if (state === 'FAILING') report({ event: 'webhook', url, state: 'failing', since: failingSince })
    if (state === 'PAUSED') report({ event: 'webhook', url, state: 'paused', since: pausedAt })
  }
}

/** Asks after the first round, and then each hour. A service that names no changes has no webhooks. */
export class WebhookWatch {
  private lookedAt = Number.NEGATIVE_INFINITY

  /**
   * Reports each webhook that is failing or paused, when it is time to ask.
   *
   * @param source makes one attempt: a copy that is in step does not wait for this
   */
  async look(source: Source, { changes, report }: Pick<Sync, 'changes' | 'report'>): Promise<void> {
    if (!changes.available || performance.now() - this.lookedAt < interval) return
    this.lookedAt = performance.now()
    try {
      await reportWebhooks(source, report)
    } catch (error) {
      // The copy does not depend on it.
      if (codeOf(error) === null) throw error
    }
  }
}
