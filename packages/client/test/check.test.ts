/** Checks that the client rejects answers that cannot come from the service, with an error that names the field. */
import { expect, test } from 'vitest'
import { voucherRecord } from '../../../test/support/hostile-service.ts'
import { VoucherGateway } from '../src/index.ts'
import { collectAll } from './support.ts'

const time = '2026-01-31T09:30:00.000000Z'
const voucher = voucherRecord(1)
const removal = { resource: 'TENANT', recordId: 2, reason: 'MOVED', removedAt: time }

/** Creates a client that gets the same answer to every request. */
const createClientWithAnswer = (body: unknown) =>
  new VoucherGateway({ url: 'https://example.com', token: 'token', fetch: async () => Response.json(body) })

const createPage = (data: unknown, rest: object = {}) => ({ data, next_cursor: null, server_time: time, ...rest })
const noRemovals = { nextCursor: null, serverTime: time, epoch: 1, serviceId: 'a', removalsCompleteSince: null }
const removals = (records: unknown, rest: object = {}) => ({
  data: { tenant: { removals: { records, ...noRemovals, ...rest } } },
})

test.each([
  ['data[1].id is not an id', createPage([voucher, { ...voucher, id: '2' }])],
  ['data[0].id is not an id', createPage([{ ...voucher, id: 2 ** 53 }])],
  ['data[0].order_id is not an id', createPage([{ ...voucher, order_id: 1.5 }])],
  ['data[0].reference is not a text', createPage([{ ...voucher, reference: { toString: 1 } }])],
  ['data[0].void is neither true nor false', createPage([{ ...voucher, void: 1 }])],
  ['data[0].updated_at is not an instant', createPage([{ ...voucher, updated_at: '2026-01-31T09:30:00+01:00' }])],
  ['data[0].created_at is not an instant', createPage([{ ...voucher, created_at: undefined }])],
  ['data[0].date_valid_end is not a date', createPage([{ ...voucher, date_valid_end: '2026-13-01' }])],
  ['data[0].current_balance is not a number', createPage([{ ...voucher, current_balance: null }])],
  ['data[0] is not an object', createPage([null])],
  ['data is not an array', createPage({})],
  ['next_cursor is not a cursor', createPage([], { next_cursor: '' })],
  ['server_time is not an instant', createPage([], { server_time: 'now' })],
  ['the body is not an object', '<html>'],
])('a page: %s', async (sentence, body) => {
  await expect(collectAll(createClientWithAnswer(body).purchasedVouchers(1))).rejects.toMatchObject({
    code: 'INVALID_RESPONSE',
    message: `The answer is not one of Voucher Gateway: ${sentence}. Check the address.`,
  })
})

test.each([
  ['records[0].resource is none of CATALOG_VOUCHER, ', removals([{ ...removal, resource: 'VOUCHER' }])],
  ['records[0].recordId is not an id', removals([{ ...removal, recordId: '../1' }])],
  ['records[0].reason is none of CONSENT_WITHDRAWN, ', removals([{ ...removal, reason: 'toString' }])],
  ['records[0].removedAt is not an instant', removals([{ ...removal, removedAt: null }])],
  ['epoch is not a count', removals([], { epoch: -1 })],
  ['serviceId is not a text', removals([], { serviceId: 1 })],
  ['nextCursor is not a cursor', removals([], { nextCursor: undefined })],
])('removals: %s', async (sentence, body) => {
  await expect(collectAll(createClientWithAnswer(body).removals(1))).rejects.toMatchObject({
    code: 'INVALID_RESPONSE',
    message: expect.stringContaining(`: data.tenant.removals.${sentence}`),
  })
})

test('the client keeps fields that only a later version of the service sends', async () => {
  const later = { ...voucher, later: { id: 'any' } }
  expect(await collectAll(createClientWithAnswer(createPage([later])).purchasedVouchers(1))).toEqual([later])
})

test('an invalid record, resolution or count throws INVALID_RESPONSE', async () => {
  const record = createClientWithAnswer({ data: { id: '..' } }).catalogVoucher(1, 1)
  await expect(record).rejects.toThrow('data.id is not an id')
  const resolution = createClientWithAnswer({ data: { status: 1 } }).resolve(1, { qrToken: 'a' })
  await expect(resolution).rejects.toThrow('data.status is not a text')
  const count = createClientWithAnswer({ data: { tenant: { list: {} } } }).count(1, 'catalog-vouchers')
  await expect(count).rejects.toThrow('totalCount is not a count')
})

test('an id that is not a whole number throws, so that it cannot change the path of the request', async () => {
  const client = createClientWithAnswer({})
  for (const id of ['..', '1/../2', 0, 1.5, undefined]) {
    const call = async () => Reflect.apply(client.purchasedVoucher, client, [1, id])
    await expect(call()).rejects.toBeInstanceOf(TypeError)
  }
})

test('an http:// address of another machine is rejected unless allowHttp is true', () => {
  const create = (url: string, options = {}) => new VoucherGateway({ url, token: 'token', ...options })
  for (const url of ['http://127.0.0.1:1', 'http://localhost', 'http://[::1]:1', 'https://example.com']) create(url)
  for (const host of ['example.com', '10.0.0.1:8080', 'localhost.example.com', '127.0.0.1.nip.io']) {
    expect(() => create(`http://${host}`)).toThrow('or set allowHttp')
    create(`http://${host}`, { allowHttp: true })
  }
})

test('an instant with a day that its month does not have is rejected', async () => {
  const isAccepted = async (updated_at: string) =>
    (
      await collectAll(createClientWithAnswer(createPage([{ ...voucher, updated_at }])).purchasedVouchers(1)).catch(
        () => [],
      )
    ).length === 1
  for (const date of ['2000-02-29', '2000-12-31']) expect(await isAccepted(`${date}T23:59:59.999Z`)).toBe(true)
  const dates = ['1900-02-29', '2001-02-29', '2000-02-30', '2000-04-31', '2000-11-31', '2000-12-32', '0000-01-01']
  for (const date of dates) expect([date, await isAccepted(`${date}T00:00:00Z`)]).toEqual([date, false])
  for (const time of ['24:00:00Z', '00:60:00Z', '00:00:60Z', '00:00Z', '00:00:00', '00:00:00.Z', '00:00:00Z ']) {
    expect([time, await isAccepted(`2000-01-01T${time}`)]).toEqual([time, false])
  }
})
