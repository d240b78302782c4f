import { expect, test, vi } from 'vitest'
import { createPickerState, levelsText, readPicker } from '../../src/admin/tenant-picker/state.ts'
import { listTokens } from '../../src/domain/token/list.ts'
import { getToken } from '../../src/domain/token/token.ts'
import { createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { createBrowser, type Fields, formsOf, type Page, signIn } from './support.ts'

const database = await createDatabase()
const { pool, loader } = database
const build = createBuilders(database)
const service = await createApp(database)
const browser = await signIn(service, database)

// A root with 5,000 children, the first 148 of them have 100 children each; a chain 300 deep; 50 other roots: 20,151 in
// all.
await loader`
  insert into tenant (id, parent_id, name, subdomain)
  select 1, null, 'Acme Holding', 'acme'
  union all select 1000 + n, 1, 'Region ' || n, 'region-' || n from generate_series(1, 5000) n
  union all select 10000 + n, 1001 + n / 100, 'Shop ' || n, null from generate_series(0, 14799) n
  union all select 30000 + n, case when n > 1 then 29999 + n end, 'Step ' || n, null from generate_series(1, 300) n
  union all select 40000 + n, null, 'Root ' || n, null from generate_series(1, 50) n`
await loader`select setval('tenant_id_seq', 100000)`
await loader`analyze tenant`

const path = '/admin/tokens/new'

const tokens = async () => (await listTokens(pool, { limit: 1000 })).length

const formOf = (page: Page) => formsOf(page.html).at(-1)?.fields ?? new URLSearchParams()

/** Changes some fields of the form on a page, and presses a button: `save`, `enter`, `find`, `toggle:1`, … */
async function press(page: Page, button: string, fields: Fields = {}, at = path): Promise<Page> {
  const filled = formOf(page)
  for (const [name, values] of Object.entries({ ...fields, do: button })) {
    filled.delete(name)
    for (const value of [values].flat()) filled.append(name, value)
  }
  return browser.post(at, filled)
}

/** Ticks tenants in the tree or among those found, and adds them. */
const add = (page: Page, ids: number[], fields: Fields = {}, at = path) =>
  press(page, 'add', { ...fields, pick: ids.map(String) }, at)

const chosenIn = (page: Page) => formOf(page).getAll('tenant').map(Number)
const boxIn = (page: Page, id: number) => new RegExp(`<input[^>]* name="pick" value="${id}"[^>]*>`).exec(page.html)?.[0]
const buttonsIn = (page: Page, deed: string) =>
  [...page.html.matchAll(new RegExp(`value="${deed}:(\\d+)"`, 'g'))].map(([, id]) => Number(id))
const nodesIn = (page: Page) => [...page.html.matchAll(/<li id="node-(\d+)"/g)].map(([, id]) => Number(id))

test('its buttons keep all entered values, and create nothing', async () => {
  const typed: Fields = {
    name: 'Typed',
    contact: 'c@example.com',
    rateLimit: '12x',
    permission: ['view_orders', 'redeem_vouchers'],
    expiry: 'date',
    expiresAt: '2099-01-01',
  }
  let page = await press(await browser.get(path), 'toggle:1', { ...typed, pick: ['1001', '40002', '0', 'x'] })
  const buttons = ['add', 'toggle:1001', 'more:1', 'more:all', 'toggle:1001', 'find', 'add-all', 'toggle:77', 'more:x']
  for (const button of buttons) {
    page = await press(page, button)
    expect(page.status, button).toBe(200)
    const kept = formOf(page)
    for (const [name, value] of Object.entries(typed)) expect(kept.getAll(name), name).toEqual([value].flat())
  }
  expect(chosenIn(page)).toEqual([1001, 40002])
  expect(await tokens()).toBe(0)
})

test('a tenant is added, given a reach, and removed; other errors keep it', async () => {
  let page = await add(await browser.get(path), [1001])
  page = await add(page, [1001, 1002])
  expect(chosenIn(page)).toEqual([1001, 1002])
  expect(formOf(page).get('reach-1001')).toBe('alone')
  page = await press(page, 'toggle:1', { 'reach-1001': 'below' })
  expect(formOf(page).get('reach-1001')).toBe('below')
  expect(boxIn(page, 1001)).toContain(' checked disabled')
  expect(boxIn(page, 1010)).not.toContain(' checked')
  page = await press(page, 'find', { tenant: '1001' })
  expect(chosenIn(page)).toEqual([1001])
  const made = await press(page, 'save', { name: 'Reach' })
  expect(made.status).toBe(201)
  const [token] = await listTokens(pool, { limit: 1 })
  expect(token?.tenants).toMatchObject([{ tenantId: 1001, withDescendants: true, name: 'Region 1' }])
})

test('tenants that are ticked and not added are chosen by every button, also by the one that saves', async () => {
  const page = await press(await browser.get(path), 'toggle:1', { pick: ['1001', '1002'] })
  expect(chosenIn(page)).toEqual([1001, 1002])
  const made = await press(page, 'save', { name: 'Ticked', pick: '40001' })
  expect(made.status).toBe(201)
  const [token] = await listTokens(pool, { limit: 1 })
  expect(token?.tenants.map(({ tenantId }) => tenantId)).toEqual([1001, 1002, 40001])
})

test('the tree opens and closes; a level shows 50 tenants, and 50 more at each press', async () => {
  let page = await browser.get(path)
  expect(nodesIn(page)).toHaveLength(50)
  expect(page.text).toContain('Show 2 more')
  expect(buttonsIn(page, 'toggle')).toEqual([1])
  page = await press(page, 'more:all')
  expect(nodesIn(page)).toHaveLength(52)
  expect(buttonsIn(page, 'toggle').sort()).toEqual([1, 30001])
  expect(page.text).not.toContain('Show 2 more')
  page = await press(page, 'toggle:1')
  expect(nodesIn(page)).toHaveLength(102)
  expect(page.text).toContain('Show 50 more of 4,950')
  page = await press(page, 'more:1')
  expect(nodesIn(page)).toHaveLength(152)
  expect(page.text).toContain('Show 50 more of 4,900')
  page = await press(page, 'toggle:1001')
  expect(nodesIn(page)).toHaveLength(202)
  expect(page.html).toMatch(/id="node-10000"[\s\S]*Shop 0/)
  page = await press(page, 'toggle:1')
  expect(nodesIn(page)).toHaveLength(52)
  expect(formOf(page).get('opened')).toBe('all:100')
})

test('a part of a level begins behind a tenant, and unknown levels are not found', async () => {
  const roots = await browser.get('/admin/tenants?below=all&after=40050')
  expect(nodesIn(roots)).toEqual([40006, 40007, 40008, 40009, 30001])
  for (const unknown of ['below=0', 'below=77', 'below=x', '']) {
    expect((await browser.get(`/admin/tenants?${unknown}`)).status, unknown).toBe(404)
  }
})

test('the parts of the picker need a session, and its lists the CSRF token of the form', async () => {
  const stranger = createBrowser(service.app)
  const redirected = await stranger.get('/admin/tenants?below=1')
  expect(redirected).toMatchObject({ status: 303, location: '/admin/login?next=%2Fadmin%2Ftenants%3Fbelow%3D1' })
  expect(redirected.html).not.toContain('Region')
  const fields = formOf(await press(await browser.get(path), 'find', { search: 'Region 77' }))
  const sent = await stranger.post('/admin/tenants', fields)
  expect(sent.status).not.toBe(200)
  expect(sent.html).not.toContain('Region')

  const lists = await browser.post('/admin/tenants', fields)
  expect(lists.status).toBe(200)
  expect(lists.html).toContain('Region 77')
  fields.delete('_csrf')
  const rejected = await browser.post('/admin/tenants', fields)
  expect(rejected.status).toBe(403)
  expect(rejected.html).not.toContain('Region')
})

test('all results of a search are added at once, up to the limit of the form', async () => {
  const found = await press(await add(await browser.get(path), [10014]), 'find', { search: 'shop 14' })
  expect(found.text).toContain('Add the other 910 results')
  const page = await press(found, 'add-all', { 'reach-10014': 'below' })
  expect(chosenIn(page)).toHaveLength(911)
  expect(page.text).toContain('Chosen tenants: 911')
  expect(page.text).not.toMatch(/Add (all|the other)/)
  expect(formOf(page).get('reach-10014')).toBe('below')
  expect(formOf(page).get('reach-24799')).toBe('alone')

  const tooMany = await press(page, 'find', { search: 'region' })
  expect(tooMany.text).toContain('With all results, 5,911 tenants would be chosen. A form can choose at most 2,000')
  expect(tooMany.text).not.toMatch(/Add (all|the other)/)
  expect(chosenIn(await press(tooMany, 'add-all'))).toHaveLength(911)
  expect((await press(page, 'save', { name: 'All of 14' })).status).toBe(201)
})

test('a search finds at most 30 tenants by name, subdomain and id, with their paths', async () => {
  const start = await browser.get(path)
  const find = (search: string) => press(start, 'find', { search })
  const shops = await find('shop 14')
  expect(shops.text).toContain('match “shop 14”')
  const found = shops.html.slice(shops.html.indexOf('aria-label="Tenants found"'))
  expect([...found.slice(0, found.indexOf('</ul>')).matchAll(/name="pick"/g)]).toHaveLength(30)
  // Shop 14, 140 to 149, 1400 to 1499 and 14000 to 14799.
  expect(shops.text).toContain('… and 881 more')
  expect(shops.text).toContain('Acme Holding › Region 1 › Shop 14 (10014)')
  expect((await find('REGION-4999')).text).toContain('Acme Holding › Region 4999 (region-4999, 5999)')
  expect((await find('30300')).text).toContain('Step 1 › Step 2 › … › Step 298 › Step 299 › Step 300 (30300)')
  expect((await find('100%')).text).toContain('No tenant matches “100%”.')
  expect((await find('\0')).status).toBe(200)
})

test('Enter in the search box searches, and does not create', async () => {
  const ready = await add(await browser.get(path), [1001], { name: 'Entered', search: '' })
  const before = await tokens()
  const found = await press(ready, 'enter', { search: 'Region 77' })
  expect(found.status).toBe(200)
  expect(found.text).toContain('match “Region 77”')
  for (const button of ['enter', 'save']) {
    expect((await press(found, button, { search: 'Region 78' })).text, button).toContain('match “Region 78”')
  }
  expect((await press(found, 'enter')).status).toBe(200)
  expect((await press(found, 'enter', { search: '' })).html).not.toContain('Tenants found')
  expect(await tokens()).toBe(before)

  expect((await press(found, 'save')).status).toBe(201)
  expect(await tokens()).toBe(before + 1)
  expect((await press(await add(await browser.get(path), [1001]), 'enter', { name: 'By Enter' })).status).toBe(201)
})

test('Enter presses the first button of the form', async () => {
  const { html } = await browser.get(path)
  const form = html.slice(html.lastIndexOf('<form'))
  expect(/<button type="submit"[^>]*>/.exec(form)?.[0]).toContain('value="enter"')
  expect(form).toMatch(/^<form[^>]* novalidate/i)
})

test('an edit starts with the current grants, and picks like a creation', async () => {
  const { id } = await build.token([{ tenantId: 1001, withDescendants: true }, 40001])
  const at = `/admin/tokens/${id}/edit`
  let page = await browser.get(at)
  expect(chosenIn(page)).toEqual([1001, 40001])
  page = await add(page, [40002], { tenant: '1001', name: 'Moved' }, at)
  expect(page.status).toBe(200)
  expect((await getToken(pool, id)).tenants).toHaveLength(2)
  page = await press(page, 'save', {}, at)
  expect(page.location).toBe(`/admin/tokens/${id}`)
  expect(await getToken(pool, id)).toMatchObject({
    name: 'Moved',
    tenants: [
      { tenantId: 1001, withDescendants: true },
      { tenantId: 40002, withDescendants: false },
    ],
  })
})

test('a chosen tenant that is deleted is named, and can be removed', async () => {
  const gone = await build.tenant({ name: 'Gone' })
  const page = await add(await browser.get(path), [gone], { name: 'For nobody' })
  await loader`delete from tenant where id = ${gone}`
  const rejected = await press(page, 'save')
  expect(rejected.status).toBe(422)
  expect(rejected.text).toContain(`No such tenant: ${gone}.`)
  expect(rejected.text).toContain('which does not exist')
  expect(chosenIn(rejected)).toEqual([gone])
})

test('with 20,000 tenants a page stays small when many are opened', async () => {
  const page = await browser.get(path)
  expect(page.html.length).toBeLessThan(40_000)
  const opened = await press(page, 'toggle:1')
  expect(nodesIn(opened)).toHaveLength(100)
  expect(opened.html.length).toBeLessThan(100_000)

  const steps = Array.from({ length: 300 }, (_, index) => `${30001 + index}:50`).join(',')
  const deep = await press(page, 'find', { opened: `all:100,${steps}` })
  expect(deep.status).toBe(200)
  // The tree shows at most 10,000 tenants.
  expect(formOf(deep).get('opened')?.split(',')).toHaveLength(199)
  expect(deep.text).toContain('Close a tenant before you open another.')
  for (const button of ['toggle:1', 'more:1']) {
    expect(formOf(await press(deep, button)).get('opened')).toBe(formOf(deep).get('opened'))
  }
})

test('a form says how much of each level is shown, within bounds', () => {
  const shown = (opened: string) => levelsText(readPicker(new URLSearchParams({ opened })).state.levels)
  expect(levelsText(createPickerState([]).levels)).toBe('all:50')
  expect(shown('')).toBe('all:50')
  expect(shown('7:120,8,9:x,x:70,7:60')).toBe('all:50,7:120,8:50,9:50')
  expect(shown('all:100000,7:50')).toBe('all:10000')
  expect(shown('7:9000,8:9000,9:50')).toBe('all:50,7:9000,8:950')
})

test('a token for a thousand tenants is created and edited', async () => {
  const ids = Array.from({ length: 1000 }, (_, index) => String(1001 + index))
  const page = await press(await browser.get(path), 'save', { name: 'Wide', tenant: ids })
  expect(page.status).toBe(201)
  const [token] = await listTokens(pool, { limit: 1 })
  expect(token?.tenants).toHaveLength(1000)
  const at = `/admin/tokens/${token?.id}/edit`
  const edited = await press(await browser.get(at), 'save', { 'reach-1001': 'below' }, at)
  expect(edited.status).toBe(303)
  expect((await getToken(pool, token?.id ?? 0)).tenants.filter(grant => grant.withDescendants)).toHaveLength(1)
})

test('a form is searched as often for thousands of tenants as for one', () => {
  /** @returns the chosen tenants, and how often the form, which is a list, was searched for a field */
  function read(tenants: number) {
    const form = new URLSearchParams()
    for (let id = 1; id <= tenants; id += 1) {
      form.append('tenant', String(id))
      form.append(`reach-${id}`, id % 2 === 0 ? 'below' : 'alone')
    }
    const searches = (['get', 'getAll', 'has'] as const).map(name => vi.spyOn(form, name))
    const { grants } = readPicker(form).state
    return { grants, searched: searches.reduce((total, { mock }) => total + mock.calls.length, 0) }
  }
  const { grants, searched } = read(20_000)
  expect(searched).toBe(read(1).searched)
  expect(grants).toHaveLength(20_000)
  expect(grants.filter(grant => grant.withDescendants)).toHaveLength(10_000)
})
