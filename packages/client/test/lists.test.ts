import { expect, test } from 'vitest'
import { createClient } from '../../../test/support/app.ts'
import { projected } from '../../../test/support/projected.ts'
import { VoucherGateway, VoucherGatewayError } from '../src/index.ts'
import { collectAll, startService } from './support.ts'

const { build, platform, url, tenant, token, app } = await startService()
const client = new VoucherGateway({ url, token })
const product = await build.product(tenant, { slug: 'massage', title: 'Massage', price: 25 })
const category = await build.category(tenant, [product], { title: 'Treatments' })
const customer = await build.customer(tenant, { email: 'ada@example.com' })
const vouchers: number[] = []
for (let count = 0; count < 101; count++) vouchers.push(await build.voucher(tenant, { reference: `GIFT-${count}` }))
await projected(platform)

/** Returns the `data` of an answer of v1. */
const readV1 = async (path: string) => (await createClient(app).rest(token, path)).body.data

test('iterating a list returns the records of all its pages, equal to the records of v1', async () => {
  const records = await collectAll(client.purchasedVouchers(tenant))
  expect(records.map(({ id }) => id)).toEqual(vouchers)
  expect(records.slice(0, 50)).toEqual(await readV1(`/tenants/${tenant}/sales/purchased-vouchers`))
  expect(await collectAll(client.tenants())).toEqual(await readV1('/tenants'))
  expect(await collectAll(client.marketingSignups(tenant))).toEqual(
    await readV1(`/tenants/${tenant}/customers/marketing-signups`),
  )
  expect(await collectAll(client.catalogVouchers(tenant))).toEqual(await readV1(`/tenants/${tenant}/catalog/vouchers`))
})

test('another client can continue a list from the cursor of a page', async () => {
  const pages = await collectAll(client.purchasedVouchers(tenant).pages())
  expect(pages.map(({ records }) => records.length)).toEqual([50, 50, 1])
  expect(pages[2]?.nextCursor).toBeNull()
  const rest = new VoucherGateway({ url, token }).purchasedVouchers(tenant, { cursor: pages[0]!.nextCursor! })
  expect((await collectAll(rest)).map(({ id }) => id)).toEqual(vouchers.slice(50))
})

test('updatedSince with the server time of the first page returns all later changes', async () => {
  const list = client.purchasedVouchers(tenant)
  for await (const { id } of list) {
    // This change comes while the list is read, so a time from the second page would miss it.
    if (id === vouchers[60])
      await platform`update purchased_voucher set product_title = 'Changed' where id = ${vouchers[3]!}`
  }
  await projected(platform)
  const changed = await collectAll(client.purchasedVouchers(tenant, { updatedSince: list.serverTime }))
  expect(changed.map(({ id, product_title }) => [id, product_title])).toEqual([[vouchers[3], 'Changed']])
  expect(await collectAll(client.purchasedVouchers(tenant, { updatedSince: new Date(Date.now() + 60_000) }))).toEqual(
    [],
  )
})

test('count returns the number of records of a list', async () => {
  expect(await client.count(tenant, 'purchased-vouchers')).toBe(vouchers.length)
  expect(await client.count(tenant, 'marketing-signups')).toBe(1)
  await expect(client.count(999_999, 'catalog-vouchers')).rejects.toMatchObject({ code: 'NOT_FOUND' })
})

test('the client sends the text of a document when the service does not know its id', async () => {
  const sent: string[] = []
  const other = new VoucherGateway({
    ...{ url, token },
    fetch: (input, init) => {
      const body = String(init?.body).replace(/sha256:\w+/, 'sha256:of-another-version')
      sent.push(...Object.keys(JSON.parse(body)).filter(key => key !== 'variables'))
      return fetch(input, { ...init, body })
    },
  })
  expect(await other.count(tenant, 'purchased-vouchers')).toBe(vouchers.length)
  for await (const { lists } of other.watchChanges()) {
    expect(lists).toEqual([])
    break
  }
  expect(sent).toEqual(['documentId', 'query', 'documentId', 'query'])
})

test('products have categories and variants only when include requests them', async () => {
  const [plain] = await collectAll(client.catalogVouchers(tenant))
  expect(plain).not.toHaveProperty('categories')
  const [full] = await collectAll(client.catalogVouchers(tenant, { include: ['categories', 'variants'] }))
  expect(full?.categories?.map(({ id }) => id)).toEqual([category])
  expect(full?.variants).toEqual([])
})

test('single records equal the records of v1, and a missing record is an error', async () => {
  const voucher = vouchers[0]!
  const paths = {
    [`/tenants/${tenant}/catalog/vouchers/${product}`]: client.catalogVoucher(tenant, product),
    [`/tenants/${tenant}/sales/purchased-vouchers/${voucher}`]: client.purchasedVoucher(tenant, voucher),
    [`/tenants/${tenant}/customers/marketing-signups/${customer}`]: client.marketingSignup(tenant, customer),
  }
  for (const [path, call] of Object.entries(paths)) expect(await call).toEqual(await readV1(path))
  await expect(client.purchasedVoucher(tenant, 999_999)).rejects.toMatchObject({ status: 404, code: 'NOT_FOUND' })
})

test('resolve finds a voucher by its reference and by its QR token', async () => {
  const balance = { currency: 'GBP', initial_balance: 5, current_balance: 5 }
  const qr = await build.voucher(tenant, { reference: 'WITH-QR', qr_token: 'qr-secret', ...balance })
  await projected(platform)
  const names = [{ qrToken: 'https://x.example/?qr=qr-secret' }, { qrToken: undefined, voucherReference: 'WITH-QR' }]
  for (const name of names) expect((await client.resolve(tenant, name)).voucher?.id).toBe(qr)
  // @ts-expect-error JavaScript code can pass both.
  await expect(client.resolve(tenant, { qrToken: 'qr-secret', voucherReference: 'WITH-QR' })).rejects.toMatchObject({
    fieldErrors: { qr_token: ['Give one of the two, not both.'] },
  })
})

test('removals return the records that left a list, and throw needsFullPass for a time that is too early', async () => {
  const { serverTime } = await client.changes()
  const { epoch, serviceId } = await client.identity(tenant)
  // Together with the customer, the number of removals exceeds one page of 100.
  const rows = await platform<{ id: number }[]>`
    insert into purchased_voucher (tenant_id, reference) select ${tenant}, 'GONE-' || n from generate_series(1, 100) n
    returning id`
  const gone = rows.map(({ id }) => id)
  await projected(platform)
  await platform`delete from purchased_voucher where reference like 'GONE-%'`
  await platform`update customer set marketing_opted = false where id = ${customer}`
  await projected(platform)
  const removals = client.removals(tenant, { updatedSince: serverTime })
  const pages = await collectAll(removals.pages())
  const records = pages.flatMap(page => page.records)
  const found = records.map(({ resource, recordId, reason }) => `${resource} ${recordId} ${reason}`)
  const deleted = gone.map(id => `PURCHASED_VOUCHER ${id} DELETED`)
  expect(found.sort()).toEqual([`MARKETING_SIGNUP ${customer} CONSENT_WITHDRAWN`, ...deleted.sort()])
  expect(pages[0]).toMatchObject({ epoch, serviceId, serverTime: removals.serverTime })
  const updatedSince = serverTime
  expect(await collectAll(client.removals(tenant, { updatedSince, resources: ['MARKETING_SIGNUP'] }))).toHaveLength(1)

  await platform`select gateway.require_full_pass()`
  const outdated = collectAll(client.removals(tenant, { updatedSince }))
  await expect(outdated).rejects.toMatchObject({ code: 'BAD_USER_INPUT', needsFullPass: true })
  const after = await client.identity(tenant)
  expect([after.epoch > epoch, after.serviceId]).toEqual([true, serviceId])
  await expect(collectAll(client.removals(999_999))).rejects.toMatchObject({ code: 'NOT_FOUND', needsFullPass: false })
})

test('an error has the status, the code, the errors of fields and the id of the request', async () => {
  const { secret: powerless } = await build.token([tenant], { permissions: [] })
  const outcomes = await Promise.allSettled([
    collectAll(new VoucherGateway({ url, token: 'vg_unknown' }).tenants()),
    collectAll(new VoucherGateway({ url, token: powerless }).purchasedVouchers(tenant)),
    collectAll(client.purchasedVouchers(999_999)),
    collectAll(client.purchasedVouchers(tenant, { cursor: 'altered' })),
  ])
  const errors = outcomes.map(outcome => outcome.status === 'rejected' && outcome.reason)
  for (const error of errors) expect(error).toBeInstanceOf(VoucherGatewayError)
  const requestId = expect.stringMatching(/^[\w.-]{1,128}$/)
  const message = expect.stringMatching(/^The request is not valid\. cursor: This is no cursor of this list\./)
  const fieldErrors = { cursor: [expect.stringContaining('cursor')] }
  expect(errors).toMatchObject([
    { status: 401, code: 'UNAUTHENTICATED', requestId },
    { status: 403, code: 'FORBIDDEN', requestId, message: 'This token lacks the permission view_vouchers.' },
    { status: 404, code: 'NOT_FOUND', requestId, fieldErrors: {} },
    { status: 422, code: 'BAD_USER_INPUT', requestId, fieldErrors, message },
  ])
})

test('the client accepts the address of v1, and rejects an address that cannot be one of this service', async () => {
  expect(await collectAll(new VoucherGateway({ url: `${url}/api/external/v1/`, token }).tenants())).toHaveLength(1)
  expect(() => new VoucherGateway({ url: 'localhost:8080', token })).toThrow(TypeError)
  expect(() => new VoucherGateway({ url, token: 'two words' })).toThrow(TypeError)
  // JavaScript code can pass the undefined value of an unset variable of process.env.
  expect(() => Reflect.construct(VoucherGateway, [{ url }])).toThrow('The option token ')
  expect(() => Reflect.construct(VoucherGateway, [{ token }])).toThrow('The option url ')
  const other = new VoucherGateway({ url, token, fetch: async () => new Response('<h1>Log in to the Wi-Fi</h1>') })
  await expect(other.purchasedVoucher(tenant, 1)).rejects.toMatchObject({ code: 'INVALID_RESPONSE' })
})
