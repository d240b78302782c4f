import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { getToken } from '../../src/domain/token/token.ts'
import { createAccount, root } from '../admin/support.ts'
import { pickTenant, secretOn, signIn, tokenIdOf } from './admin-actions.ts'
import { untilDrawn } from './look.ts'
import { openPage, startSite } from './site.ts'

const { database, build, origin, browser } = await startSite()
const { pool } = database
await createAccount(database)
const mill = await build.tenant({ name: 'The Old Mill' })

/** Waits until a new page has been drawn: the browser moves the focus only then. */
async function rendered(page: Page): Promise<void> {
  await page.waitForLoadState('load')
  await untilDrawn(page)
}

const countTokens = async () => (await pool`select count(*)::integer as count from gateway.token`)[0]?.count

test('HTML in names is shown as entered, and does not run', async () => {
  const html = `<script>document.title = 'ran'</script><img src=x onerror="document.title='ran'">&amp;'"`
  const email = '<img/src=x/onerror=alert(1)>@example.com'
  await build.tenant({ name: `Tenant ${html}`, parent_id: await build.tenant({ name: `Above ${html}` }) })
  await createAccount(database, email)
  const { page } = await openPage(browser, origin, { expected: /status of 422/ })
  // The browser, unlike the service, would reject it as an e-mail.
  await page.addInitScript(
    `addEventListener('DOMContentLoaded', () => { for (const form of document.forms) form.noValidate = true })`,
  )

  /** Checks that texts are shown as text, and that the only scripts are files of the page. */
  async function shows(...texts: string[]): Promise<void> {
    for (const text of texts) expect(await page.getByRole('main').innerText()).toContain(text)
    expect(await page.title()).not.toBe('ran')
    expect(await page.locator('img').count()).toBe(0)
    expect(await page.locator('script:not([src^="/assets/"])').count()).toBe(0)
  }

  await signIn(page, origin, { email, password: root.password })
  await page.goto(`${origin}/admin/tokens/new`)
  await page.getByLabel('Name').fill(`Name ${html}`)
  await page.getByLabel('Contact').fill(`Contact ${html}`)
  await pickTenant(page, `Tenant ${html}`, `Tenant ${html}`)
  await shows(`Tenant ${html}`, `Above ${html}`)
  expect(await page.getByLabel('Name').inputValue()).toBe(`Name ${html}`)
  await page.getByRole('button', { name: 'Create the token' }).last().click()
  await secretOn(page)
  await page.getByRole('link', { name: 'I have copied it' }).click()
  await page.waitForURL(/tokens\/\d+$/)
  const path = page.url()
  await shows(`Name ${html}`, `Contact ${html}`, `Tenant ${html}`, `by ${email}`)
  for (const below of ['edit', 'rotate', 'revoke']) {
    await page.goto(`${path}/${below}`)
    await shows(`Name ${html}`)
  }
  await page.getByRole('button', { name: 'Revoke the token' }).click()
  await page.getByRole('status').waitFor()
  const search = encodeURIComponent(html)
  await page.goto(`${origin}/admin/tokens?search=${search}&tenant=${search}&status=any`)
  await shows(`Name ${html}`, `Contact ${html}`, `Tenant ${html}`)
  expect(await page.getByLabel('Name, contact').inputValue()).toBe(html)
  await page.goto(`${origin}/admin/audit`)
  await shows(`Name ${html}`, `Contact ${html}`, `Tenant ${html}`, `${email} from`)
  await page.goto(`${origin}/admin/audit?actor=${search}&token=${search}`)
  expect(await page.getByLabel('Who').inputValue()).toBe(html)
  await shows()
  await page.goto(`${origin}/admin/administrators`)
  await shows(email)
})

test('the buttons copy the secret and the command', async () => {
  const { page } = await openPage(browser, origin, { permissions: ['clipboard-read', 'clipboard-write'] })
  await signIn(page, origin)
  await page.goto(`${origin}/admin/tokens/new`)
  await page.getByLabel('Name').fill('Copied')
  await pickTenant(page, 'old mill', 'The Old Mill')
  await page.getByRole('button', { name: 'Create the token' }).last().click()
  const secret = await secretOn(page)
  const pasted = () => page.evaluate<string>('navigator.clipboard.readText()')
  // The label stays for two seconds, so the wait begins before the click.
  const copied = page.getByRole('button', { name: 'Copied' }).waitFor()
  await page.getByRole('button', { name: 'Copy' }).first().click()
  await copied
  expect(await pasted()).toBe(secret)
  // The other one may still be named Copied.
  await page.locator('button[data-copy="curl"]').click()
  await expect.poll(pasted).toMatch(/^curl -H /)
})

test('sign-in and token creation work with the keyboard, with a visible focus', async () => {
  const { page } = await openPage(browser, origin)
  const focused = () =>
    page.evaluate<{ name: string; seen: boolean }>(`(() => {
      const element = document.activeElement
      const { outlineStyle, outlineWidth } = getComputedStyle(element)
      const label = element.labels?.[0] ?? element
      const name = element.id || element.getAttribute('aria-label') || label.textContent.trim()
      // A date has a button within, which the browser itself outlines.
      const within = element.type === 'date' && !element.matches(':focus')
      return { name, seen: within || (outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2) }
    })()`)

  /** Goes from control to control until it is there. */
  async function go(to: string, key: 'Tab' | 'Shift+Tab' = 'Tab'): Promise<void> {
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press(key)
      const { name, seen } = await focused()
      expect(seen, `the outline of ${name}`).toBe(true)
      if (name === to) return
    }
    throw new Error(`${to} is not reached`)
  }

  await page.goto(`${origin}/admin/login`)
  await go('email')
  await page.keyboard.type(root.email)
  await go('password')
  await page.keyboard.type(root.password)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${origin}/admin/tokens`)
  await page.keyboard.press('Tab')
  expect((await focused()).name).toBe('Skip to the content')
  await page.keyboard.press('Enter')
  await go('Create a token')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${origin}/admin/tokens/new`)
  await go('name')
  await page.keyboard.type('By keyboard')
  await go('permission-redeem_vouchers')
  await page.keyboard.press('Space')
  await go('permission-view_vouchers', 'Shift+Tab')
  await page.keyboard.press('Space')

  const before = await countTokens()
  await go('search')
  await page.keyboard.type('old mill')
  await page.keyboard.press('Enter')
  await page.getByRole('list', { name: 'Tenants found' }).waitFor()
  expect(await countTokens()).toBe(before)
  await rendered(page)
  expect((await focused()).name).toBe('search')
  await go(`The Old Mill (${mill})`)
  await page.keyboard.press('Space')
  await go('add-found')
  await page.keyboard.press('Space')
  await page.getByLabel('Reach for The Old Mill').waitFor()
  await rendered(page)
  await go('Reach for The Old Mill', 'Shift+Tab')
  await page.keyboard.press('ArrowDown')
  await go('expiry')
  await page.keyboard.press('ArrowUp')
  await go('Create the token')
  await page.keyboard.press('Enter')
  await secretOn(page)
  await go('I have copied it: go to the token')
  await page.keyboard.press('Enter')
  await page.getByText('The Old Mill and all below').waitFor()
  const { name, permissions, expiresAt } = await getToken(pool, tokenIdOf(page))
  expect({ name, permissions }).toEqual({ name: 'By keyboard', permissions: ['view_vouchers', 'redeem_vouchers'] })
  expect(Math.round((Date.parse(expiresAt ?? '') - Date.now()) / 86_400_000)).toBe(30)
})
