import { expect, test, vi } from 'vitest'
import { levelsText, readPicker } from '../../src/admin/tenant-picker/state.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { type Fields, formsOf, type Page, signIn } from './support.ts'

const { database, build, client } = await startService()
const { platform } = database
const browser = await signIn(client, database)

// A root with 5,000 children, the first 148 of them have 100 children each; a chain 300 deep; 50 other roots: 20,151 in
// all.
await platform`
  insert into tenant (id, parent_id, name, subdomain)
  select 1, null, 'Acme Holding', 'acme'
  union all select 1000 + n, 1, 'Region ' || n, 'region-' || n from generate_series(1, 5000) n
  union all select 10000 + n, 1001 + n / 100, 'Shop ' || n, null from generate_series(0, 14799) n
  union all select 30000 + n, case when n > 1 then 29999 + n end, 'Step ' || n, null from generate_series(1, 300) n
  union all select 40000 + n, null, 'Root ' || n, null from generate_series(1, 50) n`
await platform`select setval('tenant_id_seq', 100000)`
await projected(platform)
await platform`analyze gateway.tenant`

const path = '/admin/tokens/new'

const formOf = (page: Page) => formsOf(page.html).at(-1)?.fields ?? new URLSearchParams()

/** Changes some fields of the form on a page, and presses a button: `save`, `enter`, `find`, `toggle:1`, … */
async function press(page: Page, button: string, fields: Fields = {}): Promise<Page> {
  const filled = formOf(page)
  for (const [name, values] of Object.entries({ ...fields, do: button })) {
    filled.delete(name)
    for (const value of [values].flat()) filled.append(name, value)
  }
  return browser.post(path, filled)
}

/** Ticks tenants in the tree or among those found, and adds them. */
const add = (page: Page, ids: number[], fields: Fields = {}) => press(page, 'add', { ...fields, pick: ids.map(String) })

const chosenIn = (page: Page) => formOf(page).getAll('tenant').map(Number)
const nodesIn = (page: Page) => [...page.html.matchAll(/<li id="node-(\d+)"/g)].map(([, id]) => Number(id))

test('a part of a level begins behind a tenant, and unknown levels are not found', async () => {
  const roots = await browser.get('/admin/tenants?below=all&after=40050')
  expect(nodesIn(roots)).toEqual([40006, 40007, 40008, 40009, 30001])
  for (const unknown of ['below=0', 'below=77', 'below=x', '']) {
    expect((await browser.get(`/admin/tenants?${unknown}`)).status, unknown).toBe(404)
  }
})

test('values that no page offers are left out', async () => {
  const page = await press(await browser.get(path), 'toggle:77', { pick: ['1001', '40002', '0', 'x'] })
  for (const button of ['more:x', 'toggle:0', 'add-all']) {
    expect(chosenIn(await press(page, button)), button).toEqual([1001, 40002])
  }
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
  const { text } = await find('shop 14')
  // Shop 14, 140 to 149, 1400 to 1499 and 14000 to 14799.
  expect(text).toContain('… and 881 more')
  expect(text).toContain('Acme Holding › Region 1 › Shop 14 (10014)')
  expect((await find('REGION-4999')).text).toContain('Acme Holding › Region 4999 (region-4999, 5999)')
  // A path has at most 50 tenants.
  expect((await find('30300')).text).toContain('Step 251 › Step 252 › … › Step 298 › Step 299 › Step 300 (30300)')
  expect((await find('100%')).text).toContain('No tenant matches “100%”.')
  expect((await find('\0')).status).toBe(200)
})

test('a chosen tenant that is deleted is named, and can be removed', async () => {
  const gone = await build.tenant({ name: 'Gone' })
  await projected(platform)
  const page = await add(await browser.get(path), [gone], { name: 'For nobody' })
  await platform`delete from tenant where id = ${gone}`
  await projected(platform)
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
  expect(shown('')).toBe('all:50')
  expect(shown('7:120,8,9:x,x:70,7:60')).toBe('all:50,7:120,8:50,9:50')
  expect(shown('all:100000,7:50')).toBe('all:10000')
  expect(shown('7:9000,8:9000,9:50')).toBe('all:50,7:9000,8:950')
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
