/**
 * Resolutions see all changes that were committed before, although steps write the records later (R24, R35).
 * `RESOLVE=long` repeats more.
 */
import { expect, test, vi } from 'vitest'
import { createClient } from '../support/app.ts'
import { whole } from '../support/builders.ts'
import { createWorld } from './support.ts'

const { client, build, platform } = await createWorld()
/** Runs no steps before its requests, unlike `client`: the background job of the service runs them. */
const { resolve } = createClient(client.app)
const top = await build.tenant()
const [one, other] = [await build.tenant({ parent_id: top }), await build.tenant({ parent_id: top })]
const { secret } = await build.token([whole(top)])

/** Returns the id of the voucher, or the status of the error. Repeats the request after 503, as clients do. */
async function find(at: number, reference: string): Promise<number> {
  for (;;) {
    const { status, body } = await resolve(secret, at, { voucher_reference: reference })
    if (status !== 503) return body.data?.voucher.id ?? status
  }
}

const writers = 25
const isLong = process.env.RESOLVE === 'long'
const rounds = isLong ? 40 : 2
if (isLong) vi.setConfig({ testTimeout: 900_000 })

/** Runs a function for each writer and round. It commits a change and resolves at once. */
const repeatForWriters = (write: (round: string) => Promise<void>) =>
  Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let round = 0; round < rounds; round++) await write(`${writer}-${round}`)
    }),
  )

test('an inserted voucher is found at once, and a renamed voucher only by its new reference', async () => {
  await repeatForWriters(async name => {
    const id = await build.voucher(one, { reference: `FORMER-${name}` })
    expect(await find(one, `FORMER-${name}`)).toBe(id)
    await platform`update purchased_voucher set reference = ${`LATTER-${name}`} where id = ${id}`
    expect(await Promise.all([find(one, `LATTER-${name}`), find(one, `FORMER-${name}`)])).toEqual([id, 404])
  })
})

test('after a tenant moves, its vouchers and those of its ancestors are found only in the new tree', async () => {
  const above = await build.voucher(one, { reference: 'ABOVE' })
  await repeatForWriters(async name => {
    const tenant = await build.tenant({ parent_id: one })
    const id = await build.voucher(tenant, { reference: `BELOW-${name}` })
    expect(await Promise.all([find(one, `BELOW-${name}`), find(other, `BELOW-${name}`)])).toEqual([id, 404])
    expect(await find(tenant, 'ABOVE')).toBe(above)
    await platform`update tenant set parent_id = ${other} where id = ${tenant}`
    const found = [find(one, `BELOW-${name}`), find(other, `BELOW-${name}`), find(tenant, 'ABOVE')]
    expect(await Promise.all(found)).toEqual([404, id, 404])
  })
})

test('vouchers of a large transaction are found before steps have written all of them', async () => {
  await platform`
    insert into purchased_voucher (tenant_id, reference) select ${one}, concat('BULK-', n) from generate_series(1, 20000) n`
  const references = Array.from({ length: 20 }, (_, part) => `BULK-${1 + part * 1000}`)
  const found = await Promise.all(references.map(reference => find(one, reference)))
  const rows = await platform`select id from purchased_voucher where reference in ${platform(references)} order by id`
  expect(found).toEqual(rows.map(({ id }) => id))
})
