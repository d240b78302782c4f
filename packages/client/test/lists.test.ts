import { expect, test } from 'vitest'
import { VoucherGateway, VoucherGatewayError } from '../src/index.ts'
import { all, startService, thrownBy } from './support.ts'

const { build, loader, platform, pool, url, tenant, token, app } = await startService()
const client = new VoucherGateway({ url, token })
const product = await build.product(tenant, { slug: 'massage', title: 'Massage', price: 25 })
const category = await build.category(tenant, [product], { title: 'Treatments' })
const customer = await build.customer(tenant, { email: 'ada@example.com' })
const vouchers: number[] = []
for (let count = 0; count < 101; count++) vouchers.push(await build.voucher(tenant, { reference: `GIFT-${count}` }))

/** Returns the unparsed body of v1. */
const v1 = async (path: string) => {
  const headers = { accept: 'application/json', authorization: `Bearer ${token}` }
  return (await app.inject({ url: `/api/external/v1${path}`, headers })).json()
}

test('a list gives the records of all of its pages, as v1 gives them', async () => {
  const list = client.purchasedVouchers(tenant)
  expect(list.serverTime).toBeUndefined()
  const records = await all(list)
  expect(records.map(({ id }) => id)).toEqual(vouchers)
  expect(records.slice(0, 50)).toEqual((await v1(`/tenants/${tenant}/sales/purchased-vouchers`)).data)
  expect(await all(client.tenants())).toEqual((await v1('/tenants')).data)
  expect(await all(client.marketingSignups(tenant))).toEqual(
    (await v1(`/tenants/${tenant}/customers/marketing-signups`)).data,
  )
  expect(await all(client.catalogVouchers(tenant))).toEqual((await v1(`/tenants/${tenant}/catalog/vouchers`)).data)
})

test('its pages have cursors, from which another client goes on', async () => {
  const list = client.purchasedVouchers(tenant)
  const pages = await all(list.pages())
  expect(pages.map(({ records }) => records.length)).toEqual([50, 50, 1])
  expect(pages[2]?.nextCursor).toBeNull()
  expect(list.serverTime).toBe(pages[0]?.serverTime)
  const rest = new VoucherGateway({ url, token }).purchasedVouchers(tenant, { cursor: pages[0]!.nextCursor! })
  expect((await all(rest)).map(({ id }) => id)).toEqual(vouchers.slice(50))
})

test('the server time of the first page leads to later changes', async () => {
  const list = client.purchasedVouchers(tenant)
  for await (const { id } of list) {
    // On the second page: this change would be missed by a time that is taken later.
    if (id === vouchers[60])
      await platform`update purchased_voucher set product_title = 'Changed' where id = ${vouchers[3]!}`
  }
  const changed = await all(client.purchasedVouchers(tenant, { updatedSince: list.serverTime }))
  expect(changed.map(({ id, product_title }) => [id, product_title])).toEqual([[vouchers[3], 'Changed']])
  expect(await all(client.purchasedVouchers(tenant, { updatedSince: new Date(Date.now() + 60_000) }))).toEqual([])
})

test('count gives the size of a list', async () => {
  expect(await client.count(tenant, 'purchased-vouchers')).toBe(vouchers.length)
  expect(await client.count(tenant, 'catalog-vouchers')).toBe(1)
  expect(await client.count(tenant, 'marketing-signups')).toBe(1)
  expect(await thrownBy(client.count(999_999, 'catalog-vouchers'))).toMatchObject({ code: 'NOT_FOUND' })
})

test('a service that does not know the ids of the documents gets their texts', async () => {
  const sent: string[] = []
  const other = new VoucherGateway({
    url,
    token,
    fetch: (input, init) => {
      const body = String(init?.body).replace(/sha256:\w+/, 'sha256:of-another-version')
      sent.push(...Object.keys(JSON.parse(body)).filter(key => key !== 'variables'))
      return fetch(input, { ...init, body })
    },
  })
  expect(await other.count(tenant, 'purchased-vouchers')).toBe(vouchers.length)
  expect(await other.epoch(tenant)).toBe(await client.epoch(tenant))
  expect(sent).toEqual(['documentId', 'query', 'documentId', 'query'])
})

test('include adds categories and variants', async () => {
  const [plain] = await all(client.catalogVouchers(tenant))
  expect(plain).not.toHaveProperty('categories')
  const [full] = await all(client.catalogVouchers(tenant, { include: ['categories', 'variants'] }))
  expect(full?.categories?.map(({ id }) => id)).toEqual([category])
  expect(full?.variants).toEqual([])
})

test('single records equal those of v1, and a missing record is an error', async () => {
  const voucher = vouchers[0]!
  const paths = {
    [`/tenants/${tenant}/catalog/vouchers/${product}`]: client.catalogVoucher(tenant, product),
    [`/tenants/${tenant}/sales/purchased-vouchers/${voucher}`]: client.purchasedVoucher(tenant, voucher),
    [`/tenants/${tenant}/customers/marketing-signups/${customer}`]: client.marketingSignup(tenant, customer),
  }
  for (const [path, call] of Object.entries(paths)) expect(await call).toEqual((await v1(path)).data)
  expect(await thrownBy(client.purchasedVoucher(tenant, 999_999))).toMatchObject({ status: 404, code: 'NOT_FOUND' })
})

test('resolve finds a voucher by its reference and by its QR token', async () => {
  const qr = await build.voucher(tenant, {
    reference: 'WITH-QR',
    qr_token: 'qr-secret',
    currency: 'GBP',
    initial_balance: 5,
    current_balance: 5,
  })
  const found = await client.resolve(tenant, { voucherReference: 'with-qr' })
  expect(found.voucher?.id).toBe(qr)
  expect(found.redemption_token ?? found.reason_code).toBeTypeOf('string')
  const byToken = await client.resolve(tenant, { qrToken: 'https://example.com/redeem?qr=qr-secret' })
  expect(byToken.voucher?.id).toBe(qr)
  const byReference = await client.resolve(tenant, { qrToken: undefined, voucherReference: 'WITH-QR' })
  expect(byReference.voucher?.id).toBe(qr)
  // @ts-expect-error Code without types can give both.
  const both = await thrownBy(client.resolve(tenant, { qrToken: 'qr-secret', voucherReference: 'WITH-QR' }))
  expect(both).toMatchObject({ fieldErrors: { qr_token: ['Give one of the two, not both.'] } })
})

test('removals report the records that left, and a copy that needs a full pass', async () => {
  const { serverTime } = (await client.tenants().pages().next()).value ?? {}
  const epoch = await client.epoch(tenant)
  // With the customer, more than a page of 100.
  const rows = await loader<{ id: number }[]>`
    insert into purchased_voucher (tenant_id, reference) select ${tenant}, 'GONE-' || n from generate_series(1, 100) n
    returning id`
  const gone = rows.map(({ id }) => id)
  await platform`delete from purchased_voucher where reference like 'GONE-%'`
  await platform`update customer set marketing_opted = false where id = ${customer}`
  const removals = client.removals(tenant, { updatedSince: serverTime })
  const pages = await all(removals.pages())
  const records = pages.flatMap(page => page.records)
  expect(pages.map(({ records }) => records.length)).toEqual([100, 1])
  expect(new Set(records.map(({ resource, recordId, reason }) => `${resource} ${recordId} ${reason}`))).toEqual(
    new Set([`MARKETING_SIGNUP ${customer} CONSENT_WITHDRAWN`, ...gone.map(id => `PURCHASED_VOUCHER ${id} DELETED`)]),
  )
  expect(pages[0]).toMatchObject({ epoch, serverTime: removals.serverTime })
  const resources = ['MARKETING_SIGNUP' as const]
  expect(await all(client.removals(tenant, { updatedSince: serverTime, resources }))).toHaveLength(1)

  await pool`select gateway.require_full_pass(clock_timestamp())`
  const error = await thrownBy(all(client.removals(tenant, { updatedSince: serverTime })))
  expect(error).toMatchObject({ code: 'BAD_USER_INPUT', needsFullPass: true })
  expect(await client.epoch(tenant)).toBeGreaterThan(epoch)
  const refused = await thrownBy(all(client.removals(999_999)))
  expect(refused).toMatchObject({ code: 'NOT_FOUND', needsFullPass: false })
})

test('an error has the status, the code, the errors of fields and the id of the request', async () => {
  const { secret: powerless } = await build.token([tenant], { permissions: [] })
  const errors = [
    await thrownBy(all(new VoucherGateway({ url, token: 'vg_unknown' }).tenants())),
    await thrownBy(all(new VoucherGateway({ url, token: powerless }).purchasedVouchers(tenant))),
    await thrownBy(all(client.purchasedVouchers(999_999))),
    await thrownBy(all(client.purchasedVouchers(tenant, { cursor: 'altered' }))),
    await thrownBy(client.resolve(tenant, { qrToken: ' ' })),
  ]
  for (const error of errors) expect(error).toBeInstanceOf(VoucherGatewayError)
  expect(errors).toMatchObject([
    { status: 401, code: 'UNAUTHENTICATED' },
    { status: 403, code: 'FORBIDDEN', message: 'This token lacks the permission view_vouchers.' },
    { status: 404, code: 'NOT_FOUND', fieldErrors: {} },
    { status: 422, code: 'BAD_USER_INPUT', fieldErrors: { cursor: [expect.stringContaining('cursor')] } },
    { status: 422, code: 'BAD_USER_INPUT', fieldErrors: { qr_token: [expect.any(String)] } },
  ])
  const ids = errors.map(error => error instanceof VoucherGatewayError && error.requestId)
  expect(new Set(ids).size).toBe(errors.length)
  expect(ids).toEqual(errors.map(() => expect.stringMatching(/^[\w.-]{1,128}$/)))
})

test('the address may name v1, and must be one of this service', async () => {
  expect(await all(new VoucherGateway({ url: `${url}/api/external/v1/`, token }).tenants())).toHaveLength(1)
  expect(() => new VoucherGateway({ url: 'localhost:8080', token })).toThrow(TypeError)
  expect(() => new VoucherGateway({ url, token: 'two words' })).toThrow(TypeError)
  // The value of an unset variable in process.env, in code without types.
  const options: Record<string, unknown>[] = [
    { url, token: undefined },
    { url: undefined, token },
    { url: 'here', token },
  ]
  const messages = options.map(option => {
    try {
      return Reflect.construct(VoucherGateway, [option])
    } catch (error) {
      return error instanceof TypeError && error.message.split(' ', 3).join(' ')
    }
  })
  expect(messages).toEqual(['The option token', 'The option url', 'The option url'])
  const other = new VoucherGateway({ url, token, fetch: async () => new Response('<h1>Log in to the Wi-Fi</h1>') })
  expect(await thrownBy(all(other.tenants()))).toMatchObject({ code: 'INVALID_RESPONSE' })
  expect(await thrownBy(other.purchasedVoucher(tenant, 1))).toMatchObject({ code: 'INVALID_RESPONSE' })
  const withoutCursor = { data: [], server_time: '2026-01-31T09:30:00Z' }
  const cut = new VoucherGateway({ url, token, fetch: async () => Response.json(withoutCursor) })
  expect(await thrownBy(all(cut.tenants()))).toMatchObject({ code: 'INVALID_RESPONSE' })
})
