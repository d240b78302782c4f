import { parse } from 'csv-parse/sync'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Actor, auditActions, exportAudit, listAudit } from '../../src/domain/administrator/audit.ts'
import { listExports } from '../../src/domain/record/export.ts'
import { editToken, revokeToken } from '../../src/domain/token/lifecycle.ts'
import { rotateToken } from '../../src/domain/token/rotation.ts'
import { getToken } from '../../src/domain/token/token.ts'
import { capture, namesOf } from '../graphql/statements.ts'
import { whole } from '../support/builders.ts'
import { startService } from '../support/service.ts'
import { findPagerLink, readTableRows, signIn } from './support.ts'

const origin = 'https://gateway.example.com'
const { database, build, client } = await startService({ PUBLIC_URL: origin })
const { pool, platform } = database
const browser = await signIn(client, database, { origin, address: '192.0.2.7' })

const anna: Actor = { name: 'anna@example.com', address: '203.0.113.5' }

beforeEach(() => platform`truncate gateway.audit_entry`)

/** Adds an audit entry. `columns` replaces the default values of its columns. */
const addEntry = (columns: Record<string, unknown> = {}) => platform`
  insert into gateway.audit_entry (at, actor, address, action, token_id, tenant_id, administrator_id, detail)
  select at, actor, address, action, token_id, tenant_id, administrator_id, detail
  from jsonb_populate_record(null::gateway.audit_entry,
    ${JSON.stringify({ at: 'now', actor: 'anna@example.com', action: 'token.revoke', detail: {}, ...columns })}::text::jsonb)`

async function entriesOn(path = '/admin/audit') {
  const { html, status } = await browser.get(path)
  expect(status).toBe(200)
  return entriesIn(html)
}

async function readCsv(query = '') {
  const { html } = await browser.get(`/admin/audit.csv${query}`)
  return parse<Record<string, string>>(html, { columns: true })
}

const entriesIn = (html: string) =>
  readTableRows(html)
    .slice(1)
    .map(([when = '', what = '', who = '', about = '', detail = '']) => ({ when, what, who, about, detail }))

describe('the audit page', () => {
  test('shows who changed a token, when, from which address, and what changed', async () => {
    const [spa, hotel] = [await build.tenant({ name: 'Spa' }), await build.tenant({ name: 'Hotel' })]
    const { id } = await build.token([whole(spa)], {
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
    await editToken(pool, anna, id, 2, { ...(await getToken(pool, id)), tenants: [whole(hotel)] })
    const successor = await rotateToken(pool, anna, id, { overlap: 3600, expiresAt: null })
    await revokeToken(pool, anna, id)
    const entries = await entriesOn()
    const [about, next] = [`Token Till 2 (${id})`, `Token Till 2 (${successor.id})`]
    expect(entries).toMatchObject([
      { what: 'Token revoked', who: 'anna@example.com from 203.0.113.5', about, detail: '' },
      { what: 'Token rotated', about, detail: expect.stringContaining(`New token: token ${successor.id} `) },
      { what: 'Token created', about: next, detail: expect.stringContaining(`Ends: never Replaces: token ${id}`) },
      { what: 'Token edited', about, detail: `Tenants: Hotel (${hotel}) now with all below it` },
      {
        what: 'Token edited',
        detail:
          'Name: Till became Till 2 Contact: none became bob@example.com ' +
          `Tenants: added Hotel (${hotel}); removed Spa (${spa}) with all below it ` +
          'Permissions: added redeem_vouchers; removed view_orders Rate: 60 a minute became the default rate',
      },
      { what: 'Token created', who: 'tester', detail: expect.stringContaining('Ends: 6 May 2099, 07:08 UTC') },
    ])
    expect((await browser.get('/admin/audit')).html).toContain(`href="/admin/tokens/${successor.id}"`)
  })

  test('shows which token exported personal data, from which tenant and address', async () => {
    const tenantId = await build.tenant({ name: 'Spa' })
    const { id, secret } = await build.token([tenantId], { name: 'Mailer' })
    const customer = await build.customer(tenantId)
    const read = (remoteAddress = '127.0.0.1', path = '') =>
      client.rest(secret, `/tenants/${tenantId}/customers/marketing-signups${path}`, { remoteAddress })
    for (let reads = 0; reads < 5; reads++) await read()
    const [entry, ...more] = await entriesOn('/admin/audit?action=customer.export')
    expect(more).toEqual([])
    const about = `Token Mailer (${id}) Tenant Spa (${tenantId})`
    const who = `token ${id} (Mailer) from 127.0.0.1`
    expect(entry).toMatchObject({ what: 'Personal data exported', who, about })
    expect(entry?.detail).toContain('Records at first: 1')
    // A read from another address, by another operation or in another hour gets a separate entry.
    await read('192.0.2.9')
    await read('127.0.0.1', `/${customer}`)
    await platform`update gateway.audit_entry set at = at - interval '61 minutes' where detail ->> 'operation' = 'list'`
    await read()
    expect(await entriesOn('/admin/audit?action=customer.export')).toHaveLength(4)
    expect((await listExports(pool, id, 2)).map(({ records }) => records)).toEqual([8])
  })

  test('shows the label of each action, and shows unknown details as they are stored', async () => {
    for (const action of Object.keys(auditActions)) await addEntry({ action })
    await addEntry({ action: 'of.tomorrow', detail: { colour: 'blue', size: { w: 1 }, tenants: 'odd', from: null } })
    const [unknown, ...known] = await entriesOn()
    expect(known.map(({ what }) => what).reverse()).toEqual(Object.values(auditActions))
    expect(unknown?.what).toBe('of.tomorrow')
    for (const part of ['colour: blue', 'size: {"w":1}', 'Tenants: odd', 'From: none']) {
      expect(unknown?.detail).toContain(part)
    }
  })

  test('shows deleted tokens, tenants and administrators by their ids', async () => {
    await addEntry({ token_id: 987654, tenant_id: 876543, administrator_id: 765432, detail: { tenants: [] } })
    const [entry] = await entriesOn()
    expect(entry?.about).toBe('Token 987654, deleted Tenant 876543, deleted Administrator 765432, deleted')
    await addEntry({ action: 'token.create', detail: { tenants: [{ tenantId: 876543, withDescendants: false }] } })
    expect((await entriesOn())[0]?.detail).toBe('Tenants: a deleted tenant (876543)')
  })

  test('shows the first of thousands of tenants, and hides the others until a click', async () => {
    const made = await platform<{ id: number }[]>`
      insert into tenant (name) select 'Branch ' || number from generate_series(1, 5000) number returning id`
    const { id } = await build.token(made.map(tenant => tenant.id))
    await editToken(pool, anna, id, 1, { ...(await getToken(pool, id)), tenants: [] })
    let html = ''
    const statements = await capture(pool, async () => {
      html = (await browser.get('/admin/audit')).html
    })
    // One statement reads the names of all tenants.
    expect(namesOf(statements)).toEqual(['audit.list', 'session.find', 'tenant.find_many'])
    const [edited, created] = entriesIn(html)
    expect(created?.detail).toMatch(/Branch 20 \(\d+\) and 4,980 more Branch 21 \(\d+\), /)
    expect(edited?.detail).toMatch(/Tenants: removed Branch 1 .* and 4,980 more Branch 21 /)
  })
})

describe('filters', () => {
  test('actor, action, token, tenant and day filter the entries, alone and in combination', async () => {
    const granted = [{ tenantId: 31, withDescendants: false }]
    await addEntry({ actor: 'Anna@example.com', action: 'token.create', token_id: 11, at: '2026-01-01T00:00:00Z' })
    await addEntry({ actor: 'bob@example.com', token_id: 11, at: '2026-01-02T23:59:59.999999Z' })
    await addEntry({ actor: 'anna@other.org', token_id: 12, at: '2026-01-03T00:00:00Z' })
    await addEntry({
      actor: 'token 12',
      action: 'customer.export',
      token_id: 12,
      tenant_id: 31,
      at: '2026-01-04T12:00:00Z',
    })
    await addEntry({ actor: 'x', action: 'token.create', detail: { tenants: granted }, at: '2026-01-05T12:00:00Z' })
    await addEntry({ actor: 'y', action: 'token.edit', detail: { tenants: { from: granted, to: [] } } })
    const whoIn = async (query: string) => (await entriesOn(`/admin/audit?${query}`)).map(({ who }) => who).reverse()
    expect(await whoIn('actor=ANNA')).toEqual(['Anna@example.com', 'anna@other.org'])
    expect(await whoIn('actor=%25')).toEqual([])
    expect(await whoIn('action=token.revoke')).toEqual(['bob@example.com', 'anna@other.org'])
    expect(await whoIn('token=11')).toEqual(['Anna@example.com', 'bob@example.com'])
    expect(await whoIn('tenant=31')).toEqual(['token 12', 'x', 'y'])
    expect(await whoIn('from=2026-01-02&to=2026-01-02')).toEqual(['bob@example.com'])
    expect(await whoIn('from=2026-01-05')).toEqual(['x', 'y'])
    expect(await whoIn('actor=anna&token=12&action=token.revoke&from=2026-01-03')).toEqual(['anna@other.org'])
    expect(await whoIn('actor=&action=&token=&tenant=&from=&to=')).toHaveLength(6)
  })

  test('invalid filters keep their values, and each invalid field shows its error', async () => {
    await addEntry({ actor: 'shown@example.com' })
    const query = 'action=steal&token=0x1&tenant=-4&from=2026-02-30&to=soon'
    const { status, html } = await browser.get(`/admin/audit?${query}`)
    expect(status).toBe(422)
    for (const name of ['action', 'token', 'tenant', 'from', 'to']) expect(html).toContain(`id="${name}-error"`)
    expect(html).toContain('value="0x1"')
    expect(html).not.toContain('shown@example.com')
    expect((await browser.get(`/admin/audit.csv?${query}`)).status).toBe(422)
    for (const days of ['to=0000-01-01', 'to=2026-01-01T00:00Z', 'to=infinity', 'from=2026-02-02&to=2026-02-01']) {
      const page = await browser.get(`/admin/audit?${days}`)
      expect([page.status, page.html]).toEqual([422, expect.stringContaining('id="to-error"')])
    }
    expect(await entriesOn('/admin/audit?from=0001-01-01&to=9999-12-31')).toHaveLength(1)
  })
})

test('pages in both directions show each entry once, ordered by time, even while entries are added', async () => {
  await platform`
    insert into gateway.audit_entry (at, actor, action)
    select timestamptz '2026-03-01' + make_interval(mins => number * 37 % 160 / 2), 'page ' || number * 37 % 160,
           case when number % 5 = 0 then 'token.edit' else 'token.revoke' end
    from generate_series(1, 160) number`
  const entries = await platform<{ actor: string }[]>`
    select actor from gateway.audit_entry where action = 'token.revoke' order by at desc, id desc`
  const expected = entries.map(({ actor }) => actor)
  expect((await readCsv('?action=token.revoke')).map(({ actor }) => actor)).toEqual(expected)

  /**
   * Loads a page and then each page that its link leads to.
   *
   * @returns the actors on each page, and the address of the last page
   */
  async function follow(first: string | undefined, rel: 'prev' | 'next', visited = async () => {}) {
    const pages: string[][] = []
    let last = ''
    for (let path = first; path; ) {
      const page = await browser.get(path)
      pages.push(entriesIn(page.html).map(({ who }) => who))
      last = path
      path = findPagerLink(page, rel)
      await visited()
    }
    return { pages, last }
  }
  let late = 0
  const add = async () => {
    await addEntry({ actor: `late ${++late}` })
  }
  const forward = await follow('/admin/audit?action=token.revoke', 'next', add)
  expect(forward.pages.map(page => page.length)).toEqual([50, 50, 28])
  expect(forward.pages.flat()).toEqual(expected)
  const back = await follow(forward.last, 'prev')
  // Only three entries were added. Three entries do not fill a page, so the service shows the first page in full.
  expect(back.pages.at(-1)?.slice(0, 4)).toEqual(['late 3', 'late 2', 'late 1', expected[0]])
  expect(back.pages.slice(0, -1)).toEqual(forward.pages.toReversed())
  expect((await entriesOn('/admin/audit?before=x'))[0]?.who).toBe('late 3')
})

describe('the CSV', () => {
  test('contains all entries that match the filters, and the download has an audit entry', async () => {
    const tenantId = await build.tenant({ name: 'Spa, "Ltd"\nNorth' })
    const { id } = await build.token([tenantId], { name: 'Zürich;=1+2' })
    const detail = { records: 3, note: 'a "b", c' }
    await addEntry({ at: '2026-01-01T02:03:04.000005Z' })
    await addEntry({ action: 'customer.export', address: '192.0.2.1', token_id: id, tenant_id: tenantId, detail })
    const { status, headers, html } = await browser.get('/admin/audit.csv')
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': expect.stringMatching(/^attachment; filename="audit-\d{4}-\d\d-\d\d.csv"$/),
      'cache-control': expect.stringContaining('no-store'),
    })
    // When a spreadsheet splits lines at semicolons, no cell begins with a formula either.
    expect(html).toContain('"Zürich;=1+2",')
    const [exported, created, revoked] = parse<Record<string, string>>(html, { columns: true })
    expect(exported).toMatchObject({ token_id: `${id}`, token_name: 'Zürich;=1+2', tenant_name: 'Spa, "Ltd"\nNorth' })
    expect(JSON.parse(exported!.detail!)).toEqual(detail)
    expect(created).toMatchObject({ action: 'token.create', actor: 'tester' })
    const empty = { address: '', token_id: '', token_name: '', tenant_id: '', tenant_name: '', administrator: '' }
    const ofAnna = { at: '2026-01-01T02:03:04.000005Z', actor: 'anna@example.com', action: 'token.revoke' }
    expect(revoked).toEqual({ ...ofAnna, ...empty, detail: '{}' })

    expect(await readCsv('?action=token.revoke')).toEqual([revoked])
    const [second, first] = await entriesOn('/admin/audit?action=audit.export')
    expect(first).toMatchObject({ what: 'Audit exported', who: 'root@example.com from 192.0.2.7', detail: '' })
    expect(second?.detail).toBe('What: Token revoked')
  })

  test('escapes cells that a spreadsheet would run as formulas', async () => {
    const starts = ['=', '+', '-', '@', '\t', '\r']
    for (const start of starts)
      await addEntry({ actor: `${start}cmd|' /C calc'!A0`, address: `${start}1`, action: `${start}2` })
    const records = await readCsv()
    expect(records).toHaveLength(starts.length)
    for (const { actor, address, action } of records) {
      for (const cell of [actor, address, action]) expect(cell).toMatch(/^'[=+\-@\t\r]/)
    }
  })

  test('contains each entry once, and the service reads the entries in batches without an open transaction', async () => {
    const count = 10_000
    await platform`
      insert into gateway.audit_entry (actor, action, token_id)
      select 'many ' || number, case when number % 2 = 0 then 'token.edit' else 'token.revoke' end, number % 1000
      from generate_series(1, ${count}::integer) number`
    const actors = (await readCsv()).map(({ actor }) => actor)
    expect([actors.length, new Set(actors).size]).toEqual([count, count])

    const entries = await exportAudit(pool, anna, { action: 'token.edit' })
    expect((await entries.next()).value).toMatchObject({ actor: `many ${count}` })
    // `truncate` would wait if the export still had a statement or a transaction open.
    await platform`truncate gateway.audit_entry`
    let more = 0
    for await (const _ of entries) more += 1
    expect(more).toBeLessThan(2_000)
  })
})

test('the service can add audit entries, but cannot change or delete them', async () => {
  await addEntry()
  for (const change of [
    ...["update gateway.audit_entry set actor = 'x'", 'delete from gateway.audit_entry'],
    ...['truncate gateway.audit_entry', 'alter table gateway.audit_entry add y int', 'drop table gateway.audit_entry'],
  ]) {
    await expect(pool.unsafe(change), change).rejects.toMatchObject({ code: '42501' })
  }
  expect((await listAudit(pool, {}, { limit: 10 })).rows).toHaveLength(1)
})
