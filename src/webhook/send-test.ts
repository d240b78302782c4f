import { randomBytes } from 'node:crypto'
import type { Sql } from '../db/sql.ts'
import type { Actor } from '../domain/administrator/audit.ts'
import { badInput } from '../domain/errors.ts'
import { recordTest } from '../domain/event/delivery.ts'
import { type Endpoint, endpointState } from '../domain/event/endpoint.ts'
import type { Answer, Post } from './post.ts'

/**
 * Sends the event `test` to an endpoint once, even while it is paused. A test does not change the state of deliveries.
 *
 * @throws `BAD_USER_INPUT` with the error of `token` when it is not active
 */
export async function sendTest(sql: Sql, post: Post, actor: Actor, endpoint: Endpoint): Promise<Answer> {
  if (endpointState(endpoint) === 'ended')
    throw badInput({
      token: ['The token is revoked or has expired, so nothing is sent: create the webhook again with another token.'],
    })
  const messageId = `test_${randomBytes(16).toString('base64url')}`
  const answer = await post(endpoint, { id: messageId, type: 'test', body: '{"type":"test"}' })
  await recordTest(sql, actor, endpoint.id, { messageId, ...answer })
  return answer
}
