import { expect, test } from 'vitest'
import { getToken } from '../../src/domain/token/token.ts'
import { createAccount, root } from '../admin/support.ts'
import { pickTenant, readTokenId, secretOn, signIn } from './admin-actions.ts'
import { openPage, startSite } from './site.ts'

const { database, build, origin, browser, pool } = await startSite()
await createAccount(database)
const mill = await build.tenant({ name: 'The Old Mill' })

test('HTML in names is shown as text, and does not run', async () => {
  const html = `<script>document.title = 'ran'</script><img src=x onerror="document.title='ran'">&amp;'"`
  const email = '<img/src=x/onerror=alert(1)>@example.com'
  await build.tenant({ name: `Tenant ${html}`, parent_id: await build.tenant({ name: `Above ${html}` }) })
  await createAccount(database, email)
  const { page } = await openPage(browser, origin, { expected: /status of 422/ })
  // Turns off the browser's check of forms, because it would reject this e-mail, which the service accepts.
  await page.addInitScript(
    `addEventListener('DOMContentLoaded', () => { for (const form of document.forms) form.noValidate = true })`,
  )

  /** Checks that the page shows `texts` as text, and that each of its scripts is a file. */
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
  for (const [path, ...texts] of [
    [`tokens?search=${search}&tenant=${search}&status=any`, `Name ${html}`, `Contact ${html}`, `Tenant ${html}`],
    ['audit', `Name ${html}`, `Contact ${html}`, `Tenant ${html}`, `${email} from`],
    [`audit?actor=${search}&token=${search}`],
    ['administrators', email],
  ]) {
    await page.goto(`${origin}/admin/${path}`)
    await shows(...texts)
  }
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
  await page.getByRole('button', { name: 'Copy' }).first().click()
  await expect.poll(pasted).toBe(secret)
  // The first button may still have the name Copied, so the second button is found by its attribute.
  await page.locator('button[data-copy="curl"]').click()
  await expect.poll(pasted).toMatch(/^curl -H /)
})

test('sign-in and token creation work with the keyboard alone, and the focus is always visible', async () => {
  const { page } = await openPage(browser, origin)
  const focused = () =>
    page.evaluate<{ name: string; seen: boolean }>(`(() => {
      const element = document.activeElement
      const { outlineStyle, outlineWidth } = getComputedStyle(element)
      const label = element.labels?.[0] ?? element
      const name = element.id || element.getAttribute('aria-label') || label.textContent.trim()
      // A date field contains a button, and the browser itself outlines the button.
      const within = element.type === 'date' && !element.matches(':focus')
      return { name, seen: within || (outlineStyle === 'solid' && parseFloat(outlineWidth) >= 2) }
    })()`)

  /** Presses Tab until the control named `to` has the focus. */
  async function go(to: string): Promise<void> {
    for (let presses = 0; presses < 60; presses++) {
      await page.keyboard.press('Tab')
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
  await go('permission-view_vouchers')
  await page.keyboard.press('Space')
  await go('search')
  await page.keyboard.type('old mill')
  await page.keyboard.press('Enter')
  await page.locator('#found').getByText('“old mill”').waitFor()
  await go(`choose-${mill}`)
  await page.keyboard.press('Space')
  await page.getByLabel('Reach for The Old Mill').waitFor()
  await go('Create the token')
  await page.keyboard.press('Enter')
  await secretOn(page)
  await go('I have copied it: go to the token')
  await page.keyboard.press('Enter')
  await page.waitForURL(/tokens\/\d+$/)
  const { name, permissions } = await getToken(pool, readTokenId(page))
  expect({ name, permissions }).toEqual({ name: 'By keyboard', permissions: ['view_vouchers'] })
})
