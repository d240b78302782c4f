import type { Page } from 'playwright-core'
import { root } from '../admin/support.ts'

/** Fills in the sign-in form and sends the form. */
export async function trySignIn(page: Page, origin: string, { email, password } = root): Promise<void> {
  await page.goto(`${origin}/admin/login`)
  await page.getByLabel('E-mail').fill(email)
  await page.getByLabel('Password').fill(password)
  const answered = page.waitForResponse(answer => answer.request().method() === 'POST')
  await page.getByRole('button', { name: 'Sign in' }).click()
  // On a busy machine the check of a password can exceed the time limit of a request.
  if ((await answered).status() === 503) await trySignIn(page, origin, { email, password })
}

/** Signs in on the page, and waits for the list of tokens. */
export async function signIn(page: Page, origin: string, who = root): Promise<void> {
  await trySignIn(page, origin, who)
  await page.waitForURL(`${origin}/admin/tokens`)
}

/** Searches for a tenant by a part of its name, and adds the first result named `name`. */
export async function pickTenant(page: Page, part: string, name: string): Promise<void> {
  await page.getByLabel('Find a tenant').fill(part)
  await page.getByRole('button', { name: 'Find' }).click()
  await page.locator('#found').getByText(`“${part}”`).waitFor()
  const found = page.getByRole('list', { name: 'Tenants found' })
  await found
    .getByRole('button', { name: `Add ${name}`, exact: true })
    .first()
    .click()
  await page.getByLabel(`Reach for ${name}`).waitFor()
}

export async function secretOn(page: Page): Promise<string> {
  await page.getByRole('heading', { name: 'The token is created' }).waitFor()
  return (await page.locator('#secret').textContent()) ?? ''
}

/** Reads the id of a token from the address of its page, or of a page below its page. */
export const readTokenId = (page: Page) => Number(/\/tokens\/(\d+)/.exec(page.url())?.[1])
