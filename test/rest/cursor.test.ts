import { describe, expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { whole } from '../support/builders.ts'
import { createWorld, faultyFields, flawOf, lists } from './support.ts'

const world = await createWorld()
const { client, build, platform, place, tenantId } = world
const otherTenant = await build.tenant()
const { secret } = await build.token([whole(tenantId), otherTenant])

await platform`insert into tenant (name, parent_id) select 'Below', ${tenantId} from generate_series(1, 60)`
for (const id of [tenantId, otherTenant]) {
  await platform`insert into product (tenant_id, slug, title, currency) select ${id}, 's', 't', 'GBP' from generate_series(1, 60)`
  await platform`insert into purchased_voucher (tenant_id, reference) select ${id}, n from generate_series(1, 60) n`
  await platform`insert into customer (tenant_id, marketing_opted) select ${id}, true from generate_series(1, 60)`
}

const pageOf = (path: string, cursor: string, app = client, as = secret) =>
  app.rest(as, `${path}?cursor=${encodeURIComponent(cursor)}`)
const firstCursor = async (path: string): Promise<string> => (await client.rest(secret, path)).body.next_cursor

describe.each(lists)('a cursor of $name', list => {
  const path = list.path(place)

  test('is opaque, needs no escaping in a URL, and reveals nothing of its record', async () => {
    const cursor = await firstCursor(path)
    expect(cursor).toMatch(/^[A-Za-z0-9_-]{40,250}$/)
    const decoded = Buffer.from(cursor, 'base64url').toString('latin1')
    expect(decoded).not.toMatch(/updated|\d{4}/)
  })

  test('is 422 when the service never issued it', async () => {
    for (const text of ['x', 'undefined', 'AQ', '\0', '../../etc/passwd', '🎁', 'AQ'.repeat(2000), "' or 1=1 --"]) {
      const answer = await pageOf(path, text)
      expect(flawOf(answer, 422), text).toBeNull()
      expect(faultyFields(answer)).toEqual(['cursor'])
    }
  })

  test('is 422 in every other list, and in the same list of another tenant', async () => {
    const cursor = await firstCursor(path)
    const places = [place, { ...place, tenantId: otherTenant }]
    const paths = new Set(places.flatMap(where => lists.map(other => other.path(where))))
    paths.delete(path)
    for (const other of paths) expect(faultyFields(await pageOf(other, cursor)), other).toEqual(['cursor'])
  })
})

// One list is enough, because all lists encrypt their cursors in the same way.
test('a cursor with a changed, missing or additional character is 422', async () => {
  const path = lists[1]!.path(place)
  const cursor = await firstCursor(path)
  expect((await pageOf(path, cursor)).status).toBe(200)
  for (let at = 0; at < cursor.length; at++) {
    const others =
      at < cursor.length - 2 ? [cursor[at] === 'A' ? 'B' : 'A'] : [...'ABCDQRghwx059_-'].filter(c => c !== cursor[at])
    const changed = ['', ...others].map(other => cursor.slice(0, at) + other + cursor.slice(at + 1))
    const answers = await Promise.all(changed.map(each => pageOf(path, each)))
    for (const [index, answer] of answers.entries()) expect(faultyFields(answer), changed[index]).toEqual(['cursor'])
  }
  for (const more of [`${cursor}A`, `${cursor}=`, ` ${cursor}`, `${cursor} `, `${cursor}\n`, cursor + cursor]) {
    expect(flawOf(await pageOf(path, more), 422), JSON.stringify(more)).toBeNull()
  }
})

test('instances with the same configured key share cursors, and a cursor of another key is 422', async () => {
  const path = lists[1]!.path(place)
  const keyed = await createApp(world, { CURSOR_KEY: 'ab'.repeat(32) })
  const twin = await createApp(world, { CURSOR_KEY: 'ab'.repeat(32) })
  const cursor = (await keyed.rest(secret, path)).body.next_cursor
  expect((await pageOf(path, cursor, twin)).status).toBe(200)
  expect(faultyFields(await pageOf(path, cursor))).toEqual(['cursor'])
})
