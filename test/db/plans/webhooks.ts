import type { ActiveEndpoint } from '../../../src/domain/event/delivery.ts'
import * as delivery from '../../../src/domain/event/delivery.ts'
import * as endpoint from '../../../src/domain/event/endpoint.ts'
import { createHeadFeed } from '../../../src/domain/event/head-feed.ts'
import { readTokens } from '../../../src/domain/token/token.ts'
import { tester } from '../../support/builders.ts'
import { createJourney, type Journey, type Parts } from './journey.ts'

const url = 'https://partner.example.com/'

async function createWebhook({ pool, build }: Parts) {
  const { id } = await build.token([1])
  return endpoint.createEndpoint(pool, tester, id, url)
}

/** The journeys of webhooks: deliveries by the service, and actions of administrators. */
export const webhooks: Journey[] = [
  createJourney('the changed lists', 'head.read_changed', async ({ pool }) => {
    const feed = createHeadFeed(pool, () => {})
    const stop = await feed.listen(() => {})
    await new Promise(resolve => setTimeout(resolve, 250))
    stop()
  }),
  createJourney(
    'a webhook of a token',
    'webhook.create webhook.get webhook.list webhook.change webhook.delete',
    async parts => {
      const { id, tokenId } = await createWebhook(parts)
      await endpoint.listEndpoints(parts.pool, tokenId)
      await endpoint.pauseEndpoint(parts.pool, tester, id)
      await endpoint.resumeEndpoint(parts.pool, tester, id)
      await endpoint.replayEndpoint(parts.pool, tester, id, '2026-01-01T00:00:00.000000Z')
      await endpoint.rotateSecret(parts.pool, tester, id)
      await endpoint.deleteEndpoint(parts.pool, tester, id)
    },
  ),
  createJourney(
    'deliveries of webhooks',
    'webhook.hold_lease token.read_many webhook.list_positions webhook.begin_tries webhook.record_outcomes webhook.save_progress webhook.list_deliveries webhook.release_lease',
    async parts => {
      const { pool } = parts
      const { id, tokenId } = await createWebhook(parts)
      // This instance takes the lease, so that the service sends nothing.
      await pool`update gateway.webhook_sender set instance = 'this', held_until = now() + interval '1 hour'`
      const active = (await delivery.holdLease(pool, 'this')).find(found => found.id === id)
      if (!active) throw new Error('The lease is not free.')
      const { revision, tokenRevision, generation }: ActiveEndpoint = active
      await readTokens(pool, [tokenId])
      await delivery.listPositions(pool, active)
      const window = { since: null, until: '2026-01-01T00:00:00.000000Z' }
      const tried = { endpointId: id, revision, tokenRevision, tenantId: 1, record: 'voucher', ...window }
      await delivery.beginTries(pool, 'this', [tried])
      const answer = { messageId: 'evt_1', type: 'any', status: 204, error: null, durationMs: 1, isDelivered: true }
      await delivery.recordOutcomes(pool, [{ ...tried, ...answer, generation }])
      await delivery.saveProgress(pool, 'this', [{ ...active, deliveredTo: window.until, epoch: 1, access: '' }])
      await delivery.listDeliveries(pool, id, 50)
      await delivery.releaseLease(pool, 'this')
    },
  ),
  createJourney(
    'old deliveries',
    'webhook.delete_old_deliveries',
    async ({ pool }) => delivery.deleteOldDeliveries(pool),
    {
      excused: 'Each hour: it reads the whole log, which has at most 10,000 tries of an endpoint.',
    },
  ),
]
