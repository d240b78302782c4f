/** Names of recipients are shown, searched and counted only with `redeem_vouchers` (R32). */
import { expect, it } from 'vitest'
import { startService } from '../../support/service.ts'
import { tokenRecordsOf } from '../../support/token-records.ts'
import { capture } from '../statements.ts'
import { type Asked, ask, list } from './support.ts'

const name = 'Zoë Quill'
const { database, build, client, pool } = await startService()
const tenantId = await build.tenant()
await build.voucher(tenantId, { reference: 'GIFT-1', recipient_name: name, product_title: 'Tea' })
await build.voucher(tenantId, { reference: 'GIFT-2', recipient_name: null, product_title: 'Quilting' })
const withNames = await build.token([tenantId])
const without = await build.token([tenantId], { permissions: ['view_vouchers', 'view_orders'] })

const search = (text: string, more: Partial<Asked> = {}): Asked => ({ tenantId, filter: { text }, ...more })

/** Returns an answer without `serverTime`, and its cost. */
async function askWithoutTime(secret: string, asked: Asked) {
  const { data, errors, extensions } = await ask(client, secret, asked, { first: 1 }, 'reference')
  const { serverTime: _, ...told } = data.tenant.list
  const { requested, actual } = extensions.cost
  return { told, errors, cost: { requested, actual } }
}

it('without redeem_vouchers a search cannot find out the letters of a name', async () => {
  // All letters except `t`: a title contains `uilt`.
  const letters = [...'abcdefghijklmnopqrsuvwxyz'].map(letter => `uil${letter}`)
  for (const withDescendants of [false, true]) {
    // The answer is the same for a text in a name and for a text that no voucher has.
    const nothing = await askWithoutTime(without.secret, search('xxxx', { withDescendants }))
    for (const text of ['z', 'zoë', 'quill', 'Zoë Quill', 'q u', ...letters]) {
      expect(await askWithoutTime(without.secret, search(text, { withDescendants })), text).toEqual(nothing)
    }
  }
})

it('without redeem_vouchers no statement of a search reads names', async () => {
  const statements = await capture(pool, () => list(client, without.secret, search('quill')))
  const searches = statements.filter(({ text }) => text.includes('has_word'))
  expect(searches.length).toBeGreaterThan(0)
  for (const { text } of searches) expect(text).not.toMatch(/has_word\(recipient|recipient like/)
})

it('without redeem_vouchers vouchers are found by their references and titles', async () => {
  for (const text of ['gift-1', 'tea', 'q gift-2']) {
    expect((await list(client, without.secret, search(text))).count.count, text).toBeGreaterThan(0)
  }
})

it('without redeem_vouchers no name is shown, in a list of GraphQL or of v1', async () => {
  const { data, errors } = await ask(client, without.secret, search('gift-1'), {}, 'reference recipientName')
  expect(data.tenant.list.edges).toMatchObject([{ node: { reference: 'GIFT-1', recipientName: null } }])
  expect(errors).toMatchObject([
    { extensions: { code: 'FORBIDDEN' }, message: expect.stringContaining('redeem_vouchers') },
  ])
  for (const { secret } of [without, withNames]) {
    const { status, text } = await client.rest(secret, `/tenants/${tenantId}/sales/purchased-vouchers`)
    expect(status).toBe(200)
    expect(text).not.toContain('Quill')
  }
})

it('without redeem_vouchers the audit has no entry, because no names are searched', async () => {
  expect(await tokenRecordsOf(database).exportsOf(without.id)).toEqual([])
})

it('a token with redeem_vouchers finds vouchers by the names of their recipients, and sees the names', async () => {
  for (const text of ['quill', 'ZOË', 'q zoë', 'tea quill gift']) {
    const found = await list(client, withNames.secret, search(text), {}, 'recipientName')
    expect(found.edges, text).toMatchObject([{ node: { recipientName: name } }])
    expect(found.count).toEqual({ count: 1, precision: 'EXACT' })
  }
  expect((await list(client, withNames.secret, search('qui'))).count.count).toBe(2)
})
