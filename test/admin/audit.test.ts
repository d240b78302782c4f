import { beforeEach, describe, expect, test } from 'vitest'
import {
  type Actor,
  type AuditAction,
  auditActions,
  exportAudit,
  listAudit,
} from '../../src/domain/administrator/audit.ts'
import { listExports } from '../../src/domain/record/export.ts'
import { editToken, revokeToken } from '../../src/domain/token/lifecycle.ts'
import { rotateToken } from '../../src/domain/token/rotation.ts'
import { getToken } from '../../src/domain/token/token.ts'
import { capture, namesOf } from '../graphql/statements.ts'
import { startService } from '../support/service.ts'
import { linkOf, parseCsv, rowsOf, signIn } from './support.ts'

const origin = 'https://gateway.example.com'
const { database, build, client } = await startService({ PUBLIC_URL: origin })
const { pool, platform } = database
const browser = await signIn(client, database, { origin, address: '192.0.2.7' })

const anna: Actor = { name: 'anna@example.com', address: '203.0.113.5' }

beforeEach(() => platform`truncate gateway.audit_entry`)

interface Given {
  actor?: string
  address?: string | null
  action?: AuditAction | string
  at?: string
  tokenId?: number
  tenantId?: number
  administratorId?: number
  detail?: Record<string, unknown>
}

async function put(given: Given = {}): Promise<number> {
  const { actor = 'anna@example.com', address = null, action = 'token.revoke', at = null, detail = {} } = given
  const { tokenId = null, tenantId = null, administratorId = null } = given
  const [row] = await platform<{ id: number }[]>`
    insert into gateway.audit_entry (at, actor, address, action, token_id, tenant_id, administrator_id, detail)
    values (coalesce(${at}::text::timestamptz, now()), ${actor}, ${address}, ${action}, ${tokenId}::bigint,
            ${tenantId}::bigint, ${administratorId}::bigint, ${JSON.stringify(detail)}::text::jsonb)
    returning id`
  return row!.id
}

/** The entries on a page: the text of each cell. */
async function entriesOn(path = '/admin/audit') {
  const { html, status } = await browser.get(path)
  expect(status).toBe(200)
  return entriesIn(html)
}

const entriesIn = (html: string) =>
  rowsOf(html)
    .slice(1)
    .map(([when = '', what = '', who = '', about = '', detail = '']) => ({ when, what, who, about, detail }))

describe('the page shows', () => {
  test('the actions on a token: who, when, from where, and what changed', async () => {
    const [spa, hotel] = [await build.tenant({ name: 'Spa' }), await build.tenant({ name: 'Hotel' })]
    const { id } = await build.token([{ tenantId: spa, withDescendants: true }], {
      name: 'Till',
      permissions: ['view_vouchers', 'view_orders'],
      rateLimit: 60,
      expiresAt: new Date('2099-05-06T07:08:00Z'),
    })
    await editToken(pool, anna, id, 1, {
      name: 'Till 2',
      contact: 'bob@example.com',
      rateLimit: null,
      permissions: ['view_vouchers', 'redeem_vouchers'],
      tenants: [{ tenantId: hotel, withDescendants: false }],
    })
    await editToken(pool, anna, id, 2, {
      ...(await getToken(pool, id)),
      tenants: [{ tenantId: hotel, withDescendants: true }],
    })
    const successor = await rotateToken(pool, anna, id, { overlap: 3600, expiresAt: null })
    await revokeToken(pool, anna, id)
    const instant = /\d+ \w+ \d{4}, \d\d:\d\d UTC/.source
    const entries = await entriesOn()
    for (const { when } of entries) expect(when).toMatch(new RegExp(`^${instant}$`))
    const [of, next] = [`Token Till 2 (${id})`, `Token Till 2 (${successor.id})`]
    const who = 'anna@example.com from 203.0.113.5'
    const ends = new RegExp(`^New token: token ${successor.id} The old one ends: ${instant} The new one ends: never$`)
    const expected: [what: string, who: string, about: string, detail: unknown][] = [
      ['Token revoked', who, of, ''],
      ['Token rotated', who, of, expect.stringMatching(ends)],
      [
        'Token created',
        who,
        next,
        `Name: Till 2 Contact: bob@example.com Tenants: Hotel (${hotel}) with all below it ` +
          `Permissions: view_vouchers, redeem_vouchers Rate: the default rate Ends: never Replaces: token ${id}`,
      ],
      ['Token edited', who, of, `Tenants: Hotel (${hotel}) now with all below it`],
      [
        'Token edited',
        who,
        of,
        'Name: Till became Till 2 Contact: none became bob@example.com ' +
          `Tenants: added Hotel (${hotel}); removed Spa (${spa}) with all below it ` +
          'Permissions: added redeem_vouchers; removed view_orders Rate: 60 a minute became the default rate',
      ],
      [
        'Token created',
        'tester',
        of,
        `Name: Till Contact: none Tenants: Spa (${spa}) with all below it ` +
          'Permissions: view_vouchers, view_orders Rate: 60 a minute Ends: 6 May 2099, 07:08 UTC',
      ],
    ]
    expect(entries.map(({ what, who, about, detail }) => [what, who, about, detail])).toEqual(expected)
    expect(await entriesOn(`/admin/audit?token=${successor.id}`)).toEqual([entries[2]])
    expect(await entriesOn(`/admin/audit?tenant=${hotel}`)).toEqual(entries.slice(2, 5))
    const { html } = await browser.get('/admin/audit')
    expect(html).toContain(`href="/admin/tokens/${id}"`)
    expect(html).toContain(`href="/admin/tokens/${successor.id}"`)
  })

  test('exports of personal data by a token', async () => {
    const tenantId = await build.tenant({ name: 'Spa' })
    const { id, secret } = await build.token([tenantId], { name: 'Mailer' })
    const customer = await build.customer(tenantId)
    const read = (remoteAddress = '127.0.0.1', path = '') =>
      client.rest(secret, `/tenants/${tenantId}/customers/marketing-signups${path}`, { remoteAddress })
    for (let reads = 0; reads < 5; reads++) await read()
    const [entry, ...more] = await entriesOn('/admin/audit?action=customer.export')
    expect(more).toEqual([])
    expect(entry).toMatchObject({
      what: 'Personal data exported',
      who: `token ${id} (Mailer) from 127.0.0.1`,
      about: `Token Mailer (${id}) Tenant Spa (${tenantId})`,
    })
    expect(entry?.detail).toContain('Records at first: 1')
    // Another address, another operation and another hour have entries of their own.
    await read('192.0.2.9')
    await read('127.0.0.1', `/${customer}`)
    await platform`update gateway.audit_entry set at = at - interval '61 minutes' where detail ->> 'operation' = 'list'`
    await read()
    expect(await entriesOn('/admin/audit?action=customer.export')).toHaveLength(4)
    expect((await listExports(pool, id, 2)).map(({ records }) => records)).toEqual([8])
  })

  test('sign-ins with their addresses', async () => {
    await signIn(client, database, { email: 'carla@example.com', origin, address: '198.51.100.9' })
    const [entry] = await entriesOn()
    expect(entry).toMatchObject({ what: 'Signed in', about: 'Administrator carla@example.com' })
    expect(entry?.who).toBe('carla@example.com from 198.51.100.9')
  })

  test('every action by its label, and unknown details as they are stored', async () => {
    for (const action of Object.keys(auditActions)) await put({ action })
    await put({ action: 'of.tomorrow', detail: { colour: 'blue', size: { w: 1 }, tenants: 'odd', from: null } })
    const [unknown, ...known] = await entriesOn()
    expect(known.map(({ what }) => what).reverse()).toEqual(Object.values(auditActions))
    expect(unknown?.what).toBe('of.tomorrow')
    for (const part of ['colour: blue', 'size: {"w":1}', 'Tenants: odd', 'From: none']) {
      expect(unknown?.detail).toContain(part)
    }
  })

  test('deleted records by their ids', async () => {
    await put({ tokenId: 987654, tenantId: 876543, administratorId: 765432, detail: { tenants: [] } })
    const [entry] = await entriesOn()
    expect(entry?.about).toBe('Token 987654, deleted Tenant 876543, deleted Administrator 765432, deleted')
    await put({ action: 'token.create', detail: { tenants: [{ tenantId: 876543, withDescendants: false }] } })
    expect((await entriesOn())[0]?.detail).toBe('Tenants: a deleted tenant (876543)')
  })

  test('the first of thousands of tenants, with the others folded', async () => {
    const [{ first } = { first: 0 }] = await platform<{ first: number }[]>`
      with made as (insert into tenant (name) select 'Branch ' || number from generate_series(1, 5000) number returning id)
      select min(id) as first from made`
    const ids = Array.from({ length: 5000 }, (_, index) => first + index)
    const { id } = await build.token(ids)
    await editToken(pool, anna, id, 1, { ...(await getToken(pool, id)), tenants: [] })
    let html = ''
    const statements = await capture(pool, async () => {
      html = (await browser.get('/admin/audit')).html
    })
    // The names of all tenants come from one statement.
    expect(namesOf(statements)).toEqual(['audit.list', 'session.find', 'tenant.find_many'])
    const [edited, created] = entriesIn(html)
    expect(created?.detail).toContain(`Branch 20 (${first + 19}) and 4,980 more Branch 21 (${first + 20}), `)
    expect(edited?.detail).toMatch(/Tenants: removed Branch 1 .* and 4,980 more Branch 21 /)
    expect(html.match(/<details><summary>and 4,980 more<\/summary>/g)).toHaveLength(2)
  })
})

describe('filters', () => {
  test('select by actor, action, token, tenant and day, alone and combined', async () => {
    const granted = [{ tenantId: 31, withDescendants: false }]
    await put({ actor: 'Anna@example.com', action: 'token.create', tokenId: 11, at: '2026-01-01T00:00:00Z' })
    await put({ actor: 'bob@example.com', action: 'token.revoke', tokenId: 11, at: '2026-01-02T23:59:59.999999Z' })
    await put({ actor: 'anna@other.org', action: 'token.revoke', tokenId: 12, at: '2026-01-03T00:00:00Z' })
    await put({ actor: 'token 12', action: 'customer.export', tokenId: 12, tenantId: 31, at: '2026-01-04T12:00:00Z' })
    await put({ actor: 'x', action: 'token.create', detail: { tenants: granted }, at: '2026-01-05T12:00:00Z' })
    await put({ actor: 'y', action: 'token.edit', detail: { tenants: { from: granted, to: [] } } })
    const whoIn = async (query: string) => (await entriesOn(`/admin/audit?${query}`)).map(({ who }) => who).reverse()
    expect(await whoIn('actor=ANNA')).toEqual(['Anna@example.com', 'anna@other.org'])
    expect(await whoIn('actor=%25')).toEqual([])
    expect(await whoIn('action=token.revoke')).toEqual(['bob@example.com', 'anna@other.org'])
    expect(await whoIn('token=11')).toEqual(['Anna@example.com', 'bob@example.com'])
    expect(await whoIn('tenant=31')).toEqual(['token 12', 'x', 'y'])
    expect(await whoIn('tenant=3')).toEqual([])
    expect(await whoIn('from=2026-01-02&to=2026-01-02')).toEqual(['bob@example.com'])
    expect(await whoIn('to=2026-01-02')).toEqual(['Anna@example.com', 'bob@example.com'])
    expect(await whoIn('from=2026-01-05')).toEqual(['x', 'y'])
    expect(await whoIn('actor=anna&token=12&action=token.revoke&from=2026-01-03')).toEqual(['anna@other.org'])
    expect(await whoIn('actor=&action=&token=&tenant=&from=&to=')).toHaveLength(6)
  })

  test('with errors keep their values and show the error at each field', async () => {
    await put({ actor: 'shown@example.com' })
    const query = 'action=steal&token=0x1&tenant=-4&from=2026-02-30&to=soon'
    const { status, html, text } = await browser.get(`/admin/audit?${query}`)
    expect(status).toBe(422)
    for (const name of ['action', 'token', 'tenant', 'from', 'to']) expect(html).toContain(`id="${name}-error"`)
    expect(html).toContain('value="0x1"')
    expect(text).not.toContain('shown@example.com')
    expect((await browser.get(`/admin/audit.csv?${query}`)).status).toBe(422)
    for (const day of ['0000-01-01', '2026-1-1', '2026-01-01T00:00Z', 'infinity']) {
      expect((await browser.get(`/admin/audit?to=${day}`)).status).toBe(422)
    }
    expect((await browser.get('/admin/audit?from=0001-01-01&to=9999-12-31')).text).toContain('shown@example.com')
    const backwards = await browser.get('/admin/audit?from=2026-02-02&to=2026-02-01')
    expect(backwards.status).toBe(422)
    expect(backwards.html).toContain('id="to-error"')
  })
})

test('pages cover all entries once, by time and not by id, forwards and backwards, while entries are added', async () => {
  await platform`
    insert into gateway.audit_entry (at, actor, action)
    select timestamptz '2026-03-01' + make_interval(mins => number * 37 % 160 / 2), 'page ' || number * 37 % 160,
           case when number % 5 = 0 then 'token.edit' else 'token.revoke' end
    from generate_series(1, 160) number`
  const entries = await platform<{ actor: string }[]>`
    select actor from gateway.audit_entry where action = 'token.revoke' order by at desc, id desc`
  const expected = entries.map(({ actor }) => actor)
  expect(expected).not.toEqual(expected.toSorted((one, other) => Number(other.slice(5)) - Number(one.slice(5))))
  expect(parseCsv((await browser.get('/admin/audit.csv?action=token.revoke')).html).map(({ actor }) => actor)).toEqual(
    expected,
  )
  async function visit(path: string, rel: 'prev' | 'next') {
    const page = await browser.get(path)
    return { who: entriesIn(page.html).map(({ who }) => who), link: linkOf(page, rel) }
  }
  const first = '/admin/audit?action=token.revoke'
  expect((await visit(first, 'prev')).link).toBeUndefined()
  const pages: string[][] = []
  let last = first
  for (let path: string | undefined = first; path; ) {
    last = path
    const { who, link } = await visit(path, 'next')
    pages.push(who)
    await put({ actor: `late ${pages.length}` })
    path = link
  }
  expect(pages.map(page => page.length)).toEqual([50, 50, 28])
  expect(pages.flat()).toEqual(expected)

  const back: string[][] = []
  for (let { link } = await visit(last, 'prev'); link; ) {
    const page = await visit(link, 'prev')
    back.unshift(page.who)
    link = page.link
  }
  // Three entries were added: too few for a page, so the newest page is shown whole.
  expect(back.map(page => page.slice(0, 4))[0]).toEqual(['late 3', 'late 2', 'late 1', expected[0]])
  expect(back[0]).toHaveLength(50)
  expect(back.slice(1)).toEqual(pages.slice(0, 2))
  for (const path of ['/admin/audit?before=1', '/admin/audit?after=9007199254740991', '/admin/audit?before=x']) {
    expect((await visit(path, 'prev')).who[0]).toBe('late 3')
  }
})

describe('the CSV', () => {
  test('contains all entries that match the filters, and its export is audited', async () => {
    const tenantId = await build.tenant({ name: 'Spa, "Ltd"\nNorth' })
    const { id } = await build.token([tenantId], { name: 'Zürich;=1+2' })
    const detail = { records: 3, note: 'a "b", c' }
    await put({ actor: 'anna@example.com', action: 'token.revoke', at: '2026-01-01T02:03:04.000005Z' })
    await put({ action: 'customer.export', address: '192.0.2.1', tokenId: id, tenantId, detail })
    const disposition = () => `attachment; filename="audit-${new Date().toISOString().slice(0, 10)}.csv"`
    const before = disposition()
    const { status, headers, html } = await browser.get('/admin/audit.csv')
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('text/csv; charset=utf-8')
    expect([before, disposition()]).toContain(headers['content-disposition'])
    expect(headers['cache-control']).toContain('no-store')
    expect(html.split('\n')[0]).toBe(
      '"at","actor","address","action","token_id","token_name","tenant_id","tenant_name","administrator","detail"',
    )
    // A program that splits lines at semicolons finds no cell that begins with a formula.
    expect(html).toContain('"Zürich;=1+2",')
    const [exported, created, revoked] = parseCsv(html)
    expect(exported).toMatchObject({
      address: '192.0.2.1',
      action: 'customer.export',
      token_id: String(id),
      token_name: 'Zürich;=1+2',
      tenant_id: String(tenantId),
      tenant_name: 'Spa, "Ltd"\nNorth',
    })
    expect(JSON.parse(exported!.detail!)).toEqual(detail)
    expect(revoked).toEqual({
      at: '2026-01-01T02:03:04.000005Z',
      actor: 'anna@example.com',
      address: '',
      action: 'token.revoke',
      token_id: '',
      token_name: '',
      tenant_id: '',
      tenant_name: '',
      administrator: '',
      detail: '{}',
    })
    expect(created).toMatchObject({ action: 'token.create', actor: 'tester' })

    const filtered = parseCsv((await browser.get('/admin/audit.csv?action=token.revoke')).html)
    expect(filtered).toEqual([revoked])
    const [second, first] = await entriesOn('/admin/audit?action=audit.export')
    expect(first).toMatchObject({ what: 'Audit exported', who: 'root@example.com from 192.0.2.7', detail: '' })
    expect(second?.detail).toBe('What: Token revoked')
  })

  test('escapes cells that a spreadsheet would run as formulas', async () => {
    const starts = ['=', '+', '-', '@', '\t', '\r']
    for (const start of starts)
      await put({ actor: `${start}cmd|' /C calc'!A0`, address: `${start}1`, action: `${start}2` })
    const records = parseCsv((await browser.get('/admin/audit.csv')).html)
    expect(records).toHaveLength(starts.length)
    for (const { actor, address, action } of records) {
      for (const cell of [actor, address, action]) expect(cell).toMatch(/^'[=+\-@\t\r]/)
    }
  })

  test('contains each of many entries once, and is read in batches, without an open transaction', async () => {
    const count = 10_000
    await platform`
      insert into gateway.audit_entry (actor, action, token_id)
      select 'many ' || number, case when number % 2 = 0 then 'token.edit' else 'token.revoke' end, number % 1000
      from generate_series(1, ${count}::integer) number`
    const { html } = await browser.get('/admin/audit.csv')
    const actors = parseCsv(html).map(({ actor }) => actor)
    expect(actors).toHaveLength(count)
    expect(actors[0]).toBe(`many ${count}`)
    expect(new Set(actors).size).toBe(count)
    expect(parseCsv((await browser.get('/admin/audit.csv?action=token.revoke')).html)).toHaveLength(count / 2)

    const entries = await exportAudit(pool, anna, { action: 'token.edit' })
    expect((await entries.next()).value).toMatchObject({ actor: `many ${count}` })
    // It would wait for a statement or a transaction that is under way.
    await platform`truncate gateway.audit_entry`
    let more = 0
    for await (const _ of entries) more += 1
    expect(more).toBeLessThan(2_000)
  })
})

test('the service can add audit entries, but not change them', async () => {
  await put()
  const denied = { code: '42501' }
  await expect(pool`update gateway.audit_entry set actor = 'x'`).rejects.toMatchObject(denied)
  await expect(pool`delete from gateway.audit_entry`).rejects.toMatchObject(denied)
  await expect(pool`truncate gateway.audit_entry`).rejects.toMatchObject(denied)
  await expect(pool`alter table gateway.audit_entry add column y int`).rejects.toMatchObject(denied)
  await expect(pool`drop table gateway.audit_entry`).rejects.toMatchObject(denied)
  expect((await listAudit(pool, {}, { limit: 10 })).rows).toHaveLength(1)
})
