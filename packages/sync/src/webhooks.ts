/**
 * Reports the webhooks of the token that are failing or paused, because an integrator whose copy is in step may not
 * notice.
 */
import type { ReportEvent } from './report.ts'
import { codeOf } from './service-error.ts'
import type { Source } from './source.ts'
import type { Sync } from './sync.ts'

/** The interval at which a watch reads the webhooks, in milliseconds. Each request uses one unit of the rate limit. */
const checkInterval = 3_600_000

/**
 * Reports each webhook that is failing or paused.
 *
 * @throws VoucherGatewayError when the service cannot be reached or refuses the request
 */
export async function reportWebhooks(source: Pick<Source, 'webhooks'>, report: ReportEvent): Promise<void> {
  for (const { url, state, failingSince, pausedAt } of await source.webhooks()) {
    if (state === 'FAILING') report({ event: 'webhook', url, state: 'failing', since: failingSince })
    if (state === 'PAUSED') report({ event: 'webhook', url, state: 'paused', since: pausedAt })
  }
}

/**
 * Checks the webhooks after the first round, and then each hour. A service that cannot answer `changes` has no
 * webhooks.
 */
export class WebhookWatch {
  private lookedAt = Number.NEGATIVE_INFINITY

  /**
   * Reports each webhook that is failing or paused, at most once per hour.
   *
   * @param source a source with only one attempt, so that a watch does not wait for the webhooks
   */
  async look(source: Source, { changes, report }: Pick<Sync, 'changes' | 'report'>): Promise<void> {
    if (!changes.available || performance.now() - this.lookedAt < checkInterval) return
    this.lookedAt = performance.now()
    try {
      await reportWebhooks(source, report)
    } catch (error) {
      // Ignores errors of the service, because the copy does not need the webhooks.
      if (codeOf(error) === null) throw error
    }
  }
}
