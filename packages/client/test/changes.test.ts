import { expect, test } from 'vitest'
import { projected } from '../../../test/support/projected.ts'
import { type ListChange, VoucherGateway } from '../src/index.ts'
import { startService } from './support.ts'

const { build, platform, url, tenant, token } = await startService({ RATE_LIMIT_PER_MINUTE: '120' })
const client = new VoucherGateway({ url, token })
const customer = await build.customer(tenant)
await build.voucher(tenant)
await projected(platform)

const namesOf = (lists: ListChange[]) => lists.map(({ tenantId, list }) => `${tenantId} ${list}`).sort()

test('changes names the lists that changed since an earlier answer', async () => {
  const all = await client.changes()
  expect(namesOf(all.lists)).toEqual(
    ['marketing-signups', 'purchased-vouchers', 'tenants'].map(list => `${tenant} ${list}`),
  )
  expect(all.rate).toEqual({ remaining: 119, resetsIn: expect.any(Number) })
  expect(await client.changes({ after: all.serverTime })).toMatchObject({
    lists: [],
    epoch: all.epoch,
    access: all.access,
  })
  await platform`delete from customer where id = ${customer}`
  await projected(platform)
  const { lists, serverTime } = await client.changes({ after: all.serverTime, tenants: [tenant] })
  expect(lists).toEqual([{ tenantId: tenant, list: 'marketing-signups', since: expect.stringMatching(/^20.*Z$/) }])
  expect(serverTime > lists[0]!.since).toBe(true)
  await expect(client.changes({ tenants: [999_999] })).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('after a full pass, changes since before need one', async () => {
  const { serverTime } = await client.changes()
  await platform`select gateway.require_full_pass()`
  await expect(client.changes({ after: serverTime })).rejects.toMatchObject({ needsFullPass: true })
  expect((await client.changes({ after: new Date() })).lists).toEqual([])
})

test('an answer that has more is continued; lists that this version does not know are left out', async () => {
  const time = (second: number) => `2026-01-31T09:30:0${second}.000000Z`
  const answers = [
    { lists: [{ tenantId: 1, list: 'TENANTS', since: time(1) }], serverTime: time(1), hasMore: true },
    {
      lists: [
        { tenantId: 1, list: 'LOCATIONS', since: time(2) },
        { tenantId: 1, list: 'TENANTS', since: time(3) },
      ],
      serverTime: time(3),
      hasMore: true,
    },
    // A service that says for ever that it has more.
    { lists: [], serverTime: time(3), hasMore: true },
  ]
  const asked: unknown[] = []
  const answering = new VoucherGateway({
    url,
    token,
    fetch: async (_, init) => {
      asked.push(JSON.parse(String(init?.body)).variables.after)
      return Response.json({ data: { changes: { epoch: 1, access: 'a', ...answers[asked.length - 1] } } })
    },
  })
  expect(await answering.changes()).toEqual({
    ...{ lists: [{ tenantId: 1, list: 'tenants', since: time(3) }], serverTime: time(3), epoch: 1, access: 'a' },
    rate: null,
  })
  expect(asked).toEqual([undefined, time(1), time(3)])
})
