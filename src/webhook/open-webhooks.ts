/** Opens the webhooks of the service, and reads their key for commands. */
import { randomBytes } from 'node:crypto'
import type { Config } from '../config/config.ts'
import type { Pool, Sql } from '../db/sql.ts'
import type { HeadFeed } from '../domain/event/head-feed.ts'
import { getOrCreateSecret } from '../domain/secret/setting.ts'
import { createPost } from './post.ts'
import { createWebhookSender } from './sender.ts'

/**
 * Returns the key from which the secrets of endpoints are derived. The key is in the configuration, or else in the
 * database.
 */
export const readWebhookKey = async ({ webhook }: Config, sql: Sql): Promise<Buffer> =>
  webhook.key ?? (await getOrCreateSecret(sql, 'webhook_key', randomBytes(32)))

export type Webhooks = Awaited<ReturnType<typeof openWebhooks>>

/**
 * Opens the webhooks.
 *
 * @param report receives errors of work that is repeated later
 * @returns the key, the post and the sender; and `close`, which lets tries under way end
 */
export async function openWebhooks(config: Config, pool: Pool, feed: HeadFeed, report: (error: unknown) => void) {
  const key = await readWebhookKey(config, pool)
  const { post, close } = createPost(key, config.webhook.networks)
  const sender = createWebhookSender(pool, feed, { origin: config.publicOrigin, post, report })
  return { key, post, sender, close: () => sender.close().finally(close) }
}
