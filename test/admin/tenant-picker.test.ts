import { expect, test } from 'vitest'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { type Fields, formsOf, type Page, signIn } from './support.ts'

const { database, build, client } = await startService()
const { platform } = database
const browser = await signIn(client, database)

// 20,151 tenants: a root with 5,000 children, of which the first 148 have 100 children each; a chain of 300 tenants,
// each below the previous one; 50 other roots.
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

/**
 * Changes some fields of the form on a page, and submits the form with a button: `save`, `enter`, `find`, `add:1`, …
 */
async function press(page: Page, button: string, fields: Fields = {}): Promise<Page> {
  const filled = formOf(page)
  for (const [name, values] of Object.entries({ ...fields, do: button })) {
    filled.delete(name)
    for (const value of [values].flat()) filled.append(name, value)
  }
  return browser.post(path, filled)
}

const add = (page: Page, id: number, fields: Fields = {}) => press(page, `add:${id}`, fields)

const chosenIn = (page: Page) => formOf(page).getAll('tenant').map(Number)
const foundIn = (page: Page) => [...page.html.matchAll(/id="choose-(\d+)"/g)].map(([, id]) => Number(id))

test('the picker lists the children of a tenant, and a button of each child leads to its own children', async () => {
  const top = await browser.get(path)
  expect(top.text).toContain('52 tenants at the top of the tree.')
  expect(foundIn(top).slice(0, 2)).toEqual([1, 40001])
  const regions = await press(top, 'below:1', { search: 'typed' })
  expect(regions.text).toContain('5,000 tenants directly below Acme Holding.')
  expect(regions.html.length).toBeLessThan(40_000)
  expect(regions.text).toContain('Acme Holding › Region 1 (region-1, 1001)')
  expect(formOf(regions).get('search')).toBe('')
  const shops = await press(regions, 'below:1001')
  expect(shops.text).toContain('100 tenants directly below Region 1.')
  expect(shops.html).not.toContain('value="below:10014"')
  expect(foundIn(await press(shops, 'below:'))).toEqual(foundIn(top))
})

test('the picker ignores values that no page offers', async () => {
  const page = await add(await add(await browser.get(path), 1001), 40002)
  for (const button of ['add:x', 'add:0', 'add:1001', 'remove:77', 'remove:', 'below:x', 'below:77']) {
    expect(chosenIn(await press(page, button)), button).toEqual([1001, 40002])
  }
})

test('one button adds all results of a search, up to the limit of the form', async () => {
  const found = await press(await add(await browser.get(path), 10014), 'find', { search: 'shop 14' })
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
  expect(chosenIn(await press(page, 'remove:10014'))).toHaveLength(910)
  expect((await press(page, 'save', { name: 'All of 14' })).status).toBe(201)
})

test('a search finds at most 30 tenants by name, subdomain and id, with their paths', async () => {
  const start = await browser.get(path)
  const find = (search: string) => press(start, 'find', { search })
  const { text } = await find('shop 14')
  expect(text).toContain('… and 881 more')
  expect(text).toContain('Acme Holding › Region 1 › Shop 14 (10014)')
  expect((await find('REGION-4999')).text).toContain('Acme Holding › Region 4999 (region-4999, 5999)')
  // A path shows at most 50 tenants.
  expect((await find('30300')).text).toContain('Step 251 › Step 252 › … › Step 298 › Step 299 › Step 300 (30300)')
  expect((await find('100%')).text).toContain('No tenant matches “100%”.')
  expect((await find('\0')).status).toBe(200)
})

test('when a search text is typed, Enter and the save button search first, and save nothing', async () => {
  const start = await add(await browser.get(path), 1001, { name: 'Typed', 'reach-1001': 'below' })
  for (const [button, search] of [
    ['enter', 'shop 14'],
    ['save', 'shop 15'],
  ] as const) {
    const found = await press(start, button, { search })
    expect(found.text).toContain(`match “${search}”.`)
    expect(formOf(found).get('name')).toBe('Typed')
    expect(chosenIn(found)).toEqual([1001])
  }
})

test('the page names a chosen tenant that was deleted, and the tenant can be removed from the choice', async () => {
  const gone = await build.tenant({ name: 'Gone' })
  await projected(platform)
  const page = await add(await browser.get(path), gone, { name: 'For nobody' })
  await platform`delete from tenant where id = ${gone}`
  await projected(platform)
  const rejected = await press(page, 'save')
  expect(rejected.status).toBe(422)
  expect(rejected.text).toContain(`No such tenant: ${gone}.`)
  expect(rejected.text).toContain('which does not exist')
  expect(chosenIn(rejected)).toEqual([gone])
  expect(chosenIn(await press(rejected, `remove:${gone}`))).toEqual([])
})
