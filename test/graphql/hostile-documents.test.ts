/**
 * The service answers requests that are written to be expensive with few and short errors, and never with an internal
 * error.
 */
import { expect, test } from 'vitest'
import { startService } from '../support/service.ts'
import { hostileRequests } from './hostile-documents.ts'

const { build, client } = await startService()
const { secret } = await build.token([await build.tenant()])

/** The codes of errors that the caller caused. */
const expected = ['BAD_USER_INPUT', 'GRAPHQL_PARSE_FAILED', 'GRAPHQL_VALIDATION_FAILED', 'NOT_FOUND', 'BAD_REQUEST']

test('each hostile document is answered with few and short errors, which the caller caused', async () => {
  for (const { name, body } of hostileRequests()) {
    const answer = await client.post(secret, body)
    expect(answer.status, name).toBeLessThan(500)
    const errors: { message: string; path?: unknown; extensions: { code: string } }[] = answer.body.errors ?? []
    // An answer with data reports at most 100 failed fields. Without data it has at most ten errors, and one about the
    // limit.
    expect(errors.length, name).toBeLessThanOrEqual(answer.body.data ? 100 : 11)
    for (const { message, path, extensions } of errors) {
      if (!answer.body.data) expect(path, name).toBeUndefined()
      expect(message.length, `${name}: ${message}`).toBeLessThanOrEqual(200)
      expect(expected, name).toContain(extensions.code)
    }
  }
})
