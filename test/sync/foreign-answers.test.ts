/** Tests the reference sync with answers of a proxy whose service is unavailable. */
import { describe, expect, test } from 'vitest'
import { answerOf, startProxy } from '../../packages/client/test/support.ts'
import { directoryPlace, readService } from '../support/copies.ts'
import { createWorld, sync } from '../support/reference-sync.ts'

const { origin, token } = await createWorld()
const proxy = await startProxy(origin)
const place = directoryPlace()
const run = () => sync(proxy.url, token.secret, place)

describe('a copy keeps its tenants when a proxy answers', () => {
  test.each([
    ['404 with a page', 404, '<h1>default backend - 404</h1>'],
    ['403 with a page', 403, '<h1>Request blocked</h1>'],
    ['404 in JSON', 404, '{"message":"no Route matched with those values"}'],
    ['403 in JSON', 403, '{"message":"Forbidden"}'],
  ])('%s', async (_, status, body) => {
    expect((await run()).code).toBe(0)
    const answer = { answer: answerOf(status, {}, body) }
    proxy.plan.push('pass', answer, answer, answer)
    const { code, events } = await run()
    proxy.plan.length = 0
    expect(events.filter(({ event }) => event === 'left')).toEqual([])
    expect([3, 4]).toContain(code)
    expect(await place.read()).toEqual(await readService(origin, token.secret))
  })
})

test.each(
  Object.entries({ 'rate is exceeded': 429, 'service is unavailable': 503 }),
)('a sync that begins while the %s waits', async (_, status) => {
  proxy.plan.push({ answer: answerOf(status, { 'retry-after': '0' }, '{"message":"Try again."}') })
  expect(await run()).toMatchObject({ code: 0, error: undefined })
})
