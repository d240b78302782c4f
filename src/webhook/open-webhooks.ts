/** Opens the webhooks of the service, and reads their key for commands. */
import { randomBytes } from 'node:crypto'
import type { Config } from '../config/config.ts'
import type { Pool, Sql } from '../db/sql.ts'
import type { HeadFeed } from '../domain/event/head-feed.ts'
import { getOrCreateSecret } from '../domain/secret/setting.ts'
import { createPost, type Post } from './post.ts'
import { createWebhookSender, type WebhookSender } from './sender.ts'

/** Returns the key from which the secrets of endpoints are derived: of the configuration, or of the database. */
export const readWebhookKey = async ({ webhook }: Config, sql: Sql): Promise<Buffer> =>
  webhook.key ?? (await getOrCreateSecret(sql, 'webhook_key', randomBytes(32)))

/** The webhooks of a running service. */
export interface Webhooks {
  key: Buffer
  post: Post
  sender: WebhookSender
  /** Lets tries under way end. */
  close: () => Promise<void>
}

/** Opens the webhooks. @param report receives errors; the failed work is repeated */
export async function openWebhooks(
  config: Config,
  pool: Pool,
  feed: HeadFeed,
  report: (error: unknown) => void,
): Promise<Webhooks> {
  const key = await readWebhookKey(config, pool)
  const { post, close } = createPost(key, config.webhook.networks)
  const sender = createWebhookSender(pool, feed, { origin: config.publicOrigin, post, report })
  return { key, post, sender, close: () => sender.close().finally(close) }
}
