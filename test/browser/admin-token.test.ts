import { execFile } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { setupPath } from '../../src/http/paths.ts'
import { root } from '../admin/support.ts'
import { startBrowser } from '../support/browser.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { onTerminal, serve } from '../support/process.ts'
import { pickTenant, pressTwice, secretOn, signIn, tokenIdOf, trySignIn } from './admin-actions.ts'

// The life of a token, and of the first administrator, from one test to the next. The service is a process of its own,
// as it is run for people, and logs all that it can.
const database = await createDatabase()
const build = createBuilders(database)
const group = await build.tenant({ name: 'Hollis Hotels' })
await build.tenant({ name: 'The Old Mill', parent_id: group })
const service = await serve({ DATABASE_URL: database.url, LOG_LEVEL: 'trace' }, onTerminal)
const { origin } = new URL(service.restAddress)
const browser = await startBrowser()
const page = await (await browser.newContext()).newPage()

const wrong = { ...root, password: 'not the right one' }

/** Secrets that the log must not contain. */
const secrets = [root.password, wrong.password]

/** A token, and the line that its page showed at its creation. */
interface Made {
  id: number
  line: string
}
let made: Made

/** Reads the page of a token that was just made; then goes to its own page. */
async function keep(): Promise<Made> {
  secrets.push(await secretOn(page))
  const line = (await page.locator('#curl').textContent()) ?? ''
  await page.getByRole('link', { name: 'I have copied it' }).click()
  await page.waitForURL(/tokens\/\d+$/)
  return { id: tokenIdOf(page), line }
}

/** Pastes a line into a shell. */
function paste(line: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile('/bin/sh', ['-c', line], { timeout: 10_000 }, (error, stdout) => (error ? reject(error) : resolve(stdout)))
  })
}

const statusOf = async (line: string) => Number(await paste(`${line} -s -o /dev/null -w '%{http_code}'`))

/** Requests that are sent later than a second from now are rejected. */
async function rejectedSoon(line: string): Promise<void> {
  const begun = performance.now()
  for (;;) {
    const sent = performance.now()
    if ((await statusOf(line)) === 401) return
    if (sent - begun > 1_000) throw new Error('still not rejected')
    await delay(20)
  }
}

test('the link that the start prints creates the first administrator, once, who signs out and in', async () => {
  const link =
    service
      .printed()
      .split('\n')
      .find(line => line.includes(setupPath))
      ?.trim() ?? ''
  await page.goto(link)
  await page.getByLabel('E-mail').fill(root.email)
  await page.getByLabel('New password').fill(root.password)
  await page.getByLabel('The same password again').fill(root.password)
  await page.getByRole('button', { name: 'Create the administrator' }).click()
  await page.getByText('you are signed in').waitFor()
  await page.getByText('There are no active tokens').waitFor()
  secrets.push(...(await page.context().cookies()).map(({ value }) => decodeURIComponent(value)))

  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByText('You are signed out.').waitFor()
  await page.goto(`${origin}/admin/audit`)
  expect(page.url()).toBe(`${origin}/admin/login?next=%2Fadmin%2Faudit`)
  expect((await page.goto(link))?.status()).toBe(404)
  await trySignIn(page, origin, wrong)
  await page.getByRole('alert').getByText('The e-mail or the password is wrong.').waitFor()
  await signIn(page, origin)
})

test('a token is created, also with two clicks, and its curl command works as shown', async () => {
  await page.getByRole('link', { name: 'Create a token' }).first().click()
  await page.getByLabel('Name').fill('Tills')
  await page.getByLabel('Contact').fill('till@partner.example')
  await page.getByRole('checkbox', { name: /^view_vouchers/ }).check()
  await pickTenant(page, 'hollis', 'Hollis Hotels')
  await page.getByLabel('Reach for Hollis Hotels').selectOption('with all below it')
  await page.getByLabel('The token ends').selectOption('in 30 days')
  await pressTwice(page, 'Create the token')
  made = await keep()
  expect(secrets.at(-1)).toMatch(/^vgw_[0-9A-Za-z]{49}$/)
  expect(made.line).toContain(secrets.at(-1))
  const { data } = JSON.parse(await paste(made.line))
  expect(data.map(({ name }: { name: string }) => name).sort()).toEqual(['Hollis Hotels', 'The Old Mill'])
  expect(await statusOf(made.line)).toBe(200)

  const facts = await page.getByRole('region', { name: 'About' }).textContent()
  for (const fact of ['till@partner.example', 'Hollis Hotels and all below', 'view_vouchers', root.email]) {
    expect(facts).toContain(fact)
  }
  const [end] = await database.pool`
    select round(extract(epoch from expires_at - now()) / 86400) as days from gateway.token where id = ${made.id}`
  expect(end).toEqual({ days: 30 })
})

test('its requests and errors are counted on its page within seconds', async () => {
  expect(await statusOf(`${made.line}/${group}/customers/marketing-signups`)).toBe(403)
  const rows = async () => {
    await page.goto(`${origin}/admin/tokens/${made.id}`)
    return page
      .getByRole('row')
      .filter({ hasText: /List tenants|List marketing signups/ })
      .allTextContents()
  }
  // By outcome and status, and the error with its reason.
  await expect
    .poll(rows, { timeout: 10_000, interval: 200 })
    .toEqual(['List tenants202', 'List marketing signups011', expect.stringContaining('FORBIDDEN')])
  const facts = async () => {
    await page.goto(`${origin}/admin/tokens/${made.id}`)
    return page.getByRole('region', { name: 'About' }).textContent()
  }
  await expect.poll(facts, { timeout: 10_000, interval: 200 }).toContain('UTC from 127.0.0.1')
})

test('its secret is never shown again: after a reload, after going back, on any page', async () => {
  const other = await page.context().newPage()
  const seen: string[] = []
  const remember = async () => seen.push(await other.content())

  secrets.push(await createSimply(other, 'Reloaded'))
  await other.reload()
  await other.getByText('Its secret cannot be shown again').waitFor()
  await remember()
  const id = tokenIdOf(other)

  secrets.push(await createSimply(other, 'Gone back to'))
  await other.getByRole('link', { name: 'I have copied it' }).click()
  await other.waitForURL(/tokens\/\d+$/)
  // The browser has not cached the page, and would have to send the form again.
  await expect(other.goBack()).rejects.toThrow('ERR_CACHE_MISS')
  await other.waitForURL('chrome-error://chromewebdata/')
  await remember()
  await other.reload()
  await other.getByText('Its secret cannot be shown again').waitFor()
  await remember()
  expect(await database.pool`select count(*) from gateway.token`).toEqual([{ count: 3 }])

  const below = ['', '/edit', '/rotate', '/revoke'].map(path => `tokens/${id}${path}`)
  for (const path of ['tokens', ...below, 'audit', 'administrators', 'account']) {
    await other.goto(`${origin}/admin/${path}`)
    await remember()
  }
  seen.push(await (await other.request.get(`${origin}/admin/audit.csv`)).text())
  expect(seen.at(-1)).toContain('token.create')
  for (const secret of secrets) expect(seen.filter(text => text.includes(secret))).toEqual([])
  await other.close()
})

/** Creates a token for a test that needs only its name. */
async function createSimply(page: Page, name: string): Promise<string> {
  await page.goto(`${origin}/admin/tokens/new`)
  await page.getByLabel('Name').fill(name)
  await pickTenant(page, 'mill', 'The Old Mill')
  await page.getByRole('button', { name: 'Create the token' }).last().click()
  return secretOn(page)
}

/** Gives a token a successor. */
async function rotate({ id }: Made, overlap: string): Promise<Made> {
  await page.goto(`${origin}/admin/tokens/${id}`)
  await page.getByRole('link', { name: 'Rotate' }).click()
  await page.getByLabel('Both are valid for').selectOption({ label: overlap })
  await pressTwice(page, 'Rotate the token')
  return keep()
}

test('rotated with an overlap, both are valid; without, the old one is rejected within a second', async () => {
  const second = await rotate(made, '1 hour')
  expect(await statusOf(made.line)).toBe(200)
  expect(await statusOf(second.line)).toBe(200)
  await page.goto(`${origin}/admin/tokens/${made.id}`)
  await page.getByText('replaced, ends').waitFor()

  const third = await rotate(second, 'no time: the old one is rejected within a second')
  await rejectedSoon(second.line)
  expect(await statusOf(third.line)).toBe(200)
  made = third
})

test('revoked, it is rejected within a second', async () => {
  await page.goto(`${origin}/admin/tokens/${made.id}`)
  await page.getByRole('link', { name: 'Revoke' }).click()
  expect(await statusOf(made.line)).toBe(200)
  await page.getByRole('button', { name: 'Revoke the token' }).click()
  await rejectedSoon(made.line)
  await page.getByText('The token is revoked.').waitFor()
  expect(await page.getByRole('link', { name: 'Rotate' }).count()).toBe(0)
})

test('the audit shows each action, its actor and address', async () => {
  await page.getByRole('link', { name: 'Audit' }).click()
  await page.getByRole('heading', { name: 'Audit' }).waitFor()
  expect(await page.getByRole('rowheader').allTextContents()).toEqual([
    'Token revoked',
    'Token rotated',
    'Token created',
    'Token rotated',
    'Token created',
    'Audit exported',
    'Token created',
    'Token created',
    'Token created',
    'Signed in',
    'Sign-in failed',
    'Signed out',
    'Signed in',
    'Administrator created',
    'Administrator invited',
  ])
  const cells = await page.getByRole('cell', { name: ' from ' }).allTextContents()
  expect(cells).toEqual(Array(14).fill(`${root.email} from 127.0.0.1`))
})

test('the log contains no secret at any level', async () => {
  const link = service
    .printed()
    .split('\n')
    .filter(line => line.includes(`${origin}${setupPath}/`))
  expect(link).toHaveLength(1)
  await service.stop('SIGTERM')
  const log = service.printed().replace(link[0] ?? '', '')
  expect(log).toContain('"level":')
  expect(secrets.length).toBeGreaterThan(6)
  for (const secret of secrets) expect(log).not.toContain(secret)
})
