/** Checks which requests the client repeats, and how a caller cancels a request. */
import { getEventListeners } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { afterFile } from '../../../test/support/cleanups.ts'
import { listen } from '../../../test/support/free-port.ts'
import { voucherRecord } from '../../../test/support/hostile-service.ts'
import { type CallOptions, type ClientOptions, VoucherGateway } from '../src/index.ts'
import { collectAll, formatAnswer, type Step, startProxyWithClient, startService } from './support.ts'

const { build, url, tenant, token } = await startService({ RATE_LIMIT_PER_MINUTE: '1000' })
const voucher = await build.voucher(tenant, { reference: 'GIFT-1' })
// The voucher is readable only after the next step of the projection.
await vi.waitFor(() => new VoucherGateway({ url, token }).purchasedVoucher(tenant, voucher), { timeout: 10_000 })

async function startClient(...steps: Step[]) {
  const { client, url: address, arrived, passed } = await startProxyWithClient({ url, token }, steps)
  const read = (options: CallOptions = {}) => client.purchasedVoucher(tenant, voucher, options)
  const resolve = () => client.resolve(tenant, { voucherReference: 'GIFT-1' })
  return { arrived, passed, client, address, read, resolve }
}

const rateLimited = { answer: formatAnswer(429, { 'retry-after': '0' }, '{"message":"The rate limit is exceeded."}') }
const unavailable = { answer: formatAnswer(503) }

describe.concurrent('a request is sent again', () => {
  test.each([
    ['503 without a time to wait', unavailable],
    ['502 of a proxy', { answer: formatAnswer(502) }],
    ['a connection that breaks before the answer', 'cut at once' as const],
    ['a connection that breaks in the middle of the answer', { cutAfter: 20 }],
  ])('after %s, when it reads', async (_, step) => {
    const { arrived, read } = await startClient(step)
    expect(await read()).toMatchObject({ id: voucher })
    expect(arrived).toHaveLength(2)
  })

  test('after 429 and 503, when it resolves a voucher', async () => {
    const { arrived, passed, resolve } = await startClient(rateLimited, unavailable)
    expect(await resolve()).toMatchObject({ voucher: { id: voucher } })
    expect([arrived.length, passed.length]).toEqual([3, 1])
  })
})

describe.concurrent('a request is not sent again', () => {
  test.each([
    ['breaks before the answer', 'cut at once' as const, undefined],
    ['breaks in the middle of the answer', { cutAfter: 20 }, undefined],
    ['of a proxy is 502', { answer: formatAnswer(502) }, 502],
  ])('when it resolves a voucher and the connection %s, because the service may have executed it', async (_, step, status) => {
    const { arrived, resolve } = await startClient(step)
    const requestId = expect.stringMatching(/^\w{32}$/)
    await expect(resolve()).rejects.toMatchObject({ code: 'CONNECTION_FAILED', status, requestId })
    expect(arrived).toHaveLength(1)
  })

  test('when the service asks for a longer wait than the client accepts', async () => {
    const { arrived, read } = await startClient({ answer: formatAnswer(429, { 'retry-after': '3600' }) })
    await expect(read()).rejects.toMatchObject({ code: 'RATE_LIMITED', retryAfter: 3600 })
    expect(arrived).toHaveLength(1)
  })

  test('more often than maxAttempts, and onWait is called before each wait', async () => {
    const { arrived, address } = await startClient(rateLimited, rateLimited, unavailable)
    const waits: unknown[] = []
    const onWait: ClientOptions['onWait'] = ({ code }, ms) => waits.push([code, ms < 2_000])
    const client = new VoucherGateway({ url: address, token, maxAttempts: 3, onWait })
    await expect(client.purchasedVoucher(tenant, voucher)).rejects.toMatchObject({ code: 'UNAVAILABLE', status: 503 })
    expect(arrived).toHaveLength(3)
    expect(waits).toEqual(Array(2).fill(['RATE_LIMITED', true]))
  })

  test('when the address redirects, so that no other server gets the token', async () => {
    const location = `${url}/api/external/v1/tenants`
    const { arrived, read } = await startClient({ answer: formatAnswer(301, { location }) })
    await expect(read()).rejects.toMatchObject({ code: 'INVALID_RESPONSE', message: expect.stringContaining(url) })
    expect(arrived).toHaveLength(1)
  })
})

describe('the wait before the next attempt', () => {
  /** Calls the service with a client that accepts no wait, so that the call throws the error with its `retryAfter`. */
  async function callWithoutWaiting(headers: Record<string, string>, status = 429, body = '') {
    const { address } = await startClient({ answer: formatAnswer(status, headers, body) })
    const impatient = new VoucherGateway({ url: address, token, maxWaitMs: 0 })
    return impatient.count(tenant, 'purchased-vouchers')
  }

  test('comes from Retry-After, which can be seconds, a fraction or a date', async () => {
    const date = callWithoutWaiting({ 'retry-after': new Date(Date.now() + 300_000).toUTCString() })
    await expect(date).rejects.toMatchObject({ retryAfter: expect.closeTo(270, -2) })
    await expect(callWithoutWaiting({ 'retry-after': '1.5' })).rejects.toMatchObject({ retryAfter: 1.5 })
    await expect(callWithoutWaiting({ 'retry-after': 'soon' }, 503)).rejects.toMatchObject({ retryAfter: undefined })
  })

  test('comes from RateLimit-Reset when a field of a GraphQL response is rate limited', async () => {
    const body = (code: string) =>
      `{"data":{"tenant":null},"errors":[{"message":"No.","extensions":{"code":"${code}"}}]}`
    const refused = callWithoutWaiting({ 'ratelimit-reset': '42' }, 200, body('RATE_LIMITED'))
    await expect(refused).rejects.toMatchObject({ status: 200, code: 'RATE_LIMITED', retryAfter: 42 })
    const away = callWithoutWaiting({ 'ratelimit-reset': '42' }, 200, body('UNAVAILABLE'))
    await expect(away).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: undefined })
  })

  test.each([
    ...[null, '', '0', '0.2', '-5', '0, 120', 'soon', '1e9', '0x7f'],
    ...['Wed, 99 GMT', new Date(0).toUTCString()],
  ])('is at least a second, and short, when Retry-After is %j', async value => {
    const headers = value === null ? {} : { 'retry-after': value }
    for (const status of [429, 502, 503, 504]) {
      const { address } = await startClient({ answer: formatAnswer(status, headers, '<h1>Busy</h1>') })
      const controller = new AbortController()
      let waited = 0
      const onWait: ClientOptions['onWait'] = (_error, ms) => {
        waited = ms
        controller.abort()
      }
      const client = new VoucherGateway({ url: address, token, onWait })
      await client.purchasedVoucher(tenant, voucher, controller).catch(() => {})
      expect(waited >= 1_000 && waited < 2_000, `${waited}`).toBe(true)
    }
  })

  test('grows, and has jitter', async () => {
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    onTestFinished(() => void vi.restoreAllMocks())
    const { address } = await startClient(unavailable, unavailable, rateLimited)
    const waits: number[] = []
    const client = new VoucherGateway({ url: address, token, onWait: (_, ms) => waits.push(ms) })
    expect(await client.purchasedVoucher(tenant, voucher)).toMatchObject({ id: voucher })
    expect(waits).toEqual([1250, 1500, 1500])
  })
})

test("the service's own 429 is waited out, and no request comes too early", async () => {
  const { secret } = await build.token([tenant], { rateLimit: 2 })
  const { arrived, address } = await startClient()
  const limited = new VoucherGateway({ url: address, token: secret })
  const readOnce = () => limited.purchasedVoucher(tenant, voucher)
  const now = performance.now.bind(performance)
  const began = now()
  await readOnce()
  // The window of 60 seconds ends shortly after the three calls.
  const passed = began + 57_500 - now()
  vi.spyOn(performance, 'now').mockImplementation(() => now() + passed)
  onTestFinished(() => void vi.restoreAllMocks())
  expect(await Promise.all([readOnce(), readOnce(), readOnce()])).toHaveLength(3)
  // Each window allows two requests, so the third call got 429 first, and succeeded in the next window.
  expect(arrived).toHaveLength(6)
})

describe('a signal', () => {
  const reason = new Error('The user has left.')

  test('with a signal that is already aborted sends no request', async () => {
    const { arrived, client } = await startClient()
    const options = { signal: AbortSignal.abort(reason) }
    const calls = [
      client.purchasedVoucher(tenant, voucher, options),
      client.resolve(tenant, { voucherReference: 'GIFT-1' }, options),
      collectAll(client.purchasedVouchers(tenant, options)),
      collectAll(client.removals(tenant, options)),
      collectAll(client.exportPurchasedVouchers(tenant, options)),
    ]
    for (const call of calls) await expect(call).rejects.toBe(reason)
    expect(arrived).toEqual([])
  })

  test.each([
    ['an answer', 'silence' as const],
    ['the next try', { answer: formatAnswer(429, { 'retry-after': '60' }) }],
  ])('ends the wait for %s, and is let go of', async (_, step) => {
    const { arrived, read } = await startClient(step)
    const controller = new AbortController()
    const { signal } = controller
    const call = expect(read({ signal })).rejects.toBe(reason)
    await vi.waitFor(() => expect(arrived).toHaveLength(1), 10_000)
    // The client begins to wait only after it has read the answer.
    if (step !== 'silence') await vi.waitFor(() => expect(getEventListeners(signal, 'abort')).toHaveLength(1), 10_000)
    controller.abort(reason)
    await call
    expect(arrived).toHaveLength(1)
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

test('a call without an answer throws TIMEOUT after timeoutMs', async () => {
  const { arrived, address } = await startClient('silence', 'silence')
  const impatient = new VoucherGateway({ url: address, token, maxAttempts: 2, timeoutMs: 1_000 })
  await expect(impatient.purchasedVoucher(tenant, voucher)).rejects.toMatchObject({ code: 'TIMEOUT' })
  expect(arrived).toHaveLength(2)
})

test('the timeout starts again when the headers arrive', async () => {
  const slow: ClientOptions['fetch'] = async (_, init) => {
    await pause(1_000)
    const body = new ReadableStream({
      async pull(stream) {
        await pause(1_000)
        if (init?.signal?.aborted) return stream.error(init.signal.reason)
        stream.enqueue(Buffer.from(JSON.stringify({ data: voucherRecord(1) })))
        stream.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'application/json' } })
  }
  const call = (timeoutMs: number) =>
    new VoucherGateway({ url, token, maxAttempts: 1, timeoutMs, fetch: slow }).purchasedVoucher(tenant, 1)
  expect(await call(1_700)).toEqual(voucherRecord(1))
  await expect(call(500)).rejects.toMatchObject({ code: 'TIMEOUT' })
})

test('an endless answer and an endless export throw INVALID_RESPONSE', async () => {
  const server = createServer((_, response) => {
    const send = () => {
      while (response.writable && response.write(Buffer.alloc(1024 * 1024, ' '))) {}
    }
    response.on('drain', send)
    send()
  })
  afterFile(() => server.closeAllConnections())
  const client = new VoucherGateway({ url: `http://127.0.0.1:${await listen(server)}`, token })
  const calls = [
    () => client.purchasedVoucher(tenant, voucher),
    () => collectAll(client.exportPurchasedVouchers(tenant)),
  ]
  for (const call of calls) {
    await expect(call()).rejects.toMatchObject({
      code: 'INVALID_RESPONSE',
      message: expect.stringContaining('more than 64 Mi characters'),
    })
  }
})
