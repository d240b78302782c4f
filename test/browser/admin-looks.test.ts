import { expect, test } from 'vitest'
import { inviteAdministrator, inviteFirstAdministrator } from '../../src/domain/administrator/invitation.ts'
import { editToken, revokeToken } from '../../src/domain/token/lifecycle.ts'
import { rotateToken } from '../../src/domain/token/rotation.ts'
import { getToken } from '../../src/domain/token/token.ts'
import { startProvider } from '../admin/provider.ts'
import { createAccount, root } from '../admin/support.ts'
import { startBrowser } from '../support/browser.ts'
import { tester } from '../support/builders.ts'
import { freePort } from '../support/free-port.ts'
import { startService } from '../support/service.ts'
import { pickTenant, signIn, trySignIn } from './admin-actions.ts'
import { fillLifelike } from './lifelike.ts'
import { look, saveScreenshot, takesScreenshots } from './look.ts'

const browser = await startBrowser()

/** A service over a database of its own, and a browser page on it. */
async function open(environment: NodeJS.ProcessEnv = {}, port = 0) {
  const service = await startService(environment)
  const origin = await service.client.app.listen({ host: '127.0.0.1', port })
  const context = await browser.newContext()
  return { ...service, origin, page: await context.newPage() }
}

const bare = await open()
const full = await open({ RATE_LIMIT_PER_MINUTE: '120' })
const ada = { email: 'ada@hollis.example', password: root.password }
await createAccount(full.database, ada.email)
const busyId = await fillLifelike(full)
await signIn(full.page, full.origin, ada)

// `PICTURES=on npm test -- --project browser` puts them where the docs show them.
test.runIf(takesScreenshots)('takes the screenshots for the docs', async () => {
  const { page, origin } = full
  await page.goto(`${origin}/admin/tokens`)
  await saveScreenshot(page, 'tokens')
  await page.goto(`${origin}/admin/tokens/${busyId}`)
  await saveScreenshot(page, 'token')
})

/** Opens a page of the service that has the lifelike data, and looks at it. */
async function visit(name: string, path: string): Promise<void> {
  await full.page.goto(full.origin + path)
  await look(full.page, name)
}

test('the sign-in', async () => {
  const { page, origin, database } = bare
  const link = `${origin}/admin/setup/${await inviteFirstAdministrator(database.pool, tester)}`
  const choose = async (email: string, password: string) => {
    await page.getByLabel('E-mail').fill(email)
    await page.getByLabel('New password').fill(password)
    await page.getByLabel('The same password again').fill(password)
    await page.getByRole('button', { name: 'Create the administrator' }).click()
  }
  await page.goto(`${origin}/admin`)
  await page.getByRole('heading', { name: 'There is no administrator yet' }).waitFor()
  await look(page, 'login-no-administrator')
  await page.goto(link)
  await look(page, 'setup')
  await choose('root@example.com', 'too short')
  await page.getByRole('alert').waitFor()
  await look(page, 'setup-field-errors')
  await choose(root.email, root.password)
  await page.waitForURL(`${origin}/admin/tokens`)
  await look(page, 'tokens-none')
  await page.getByText('There are no active tokens. An integration needs one').waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.waitForURL(/because=out/)
  await look(page, 'login-signed-out')
  await page.goto(link)
  await look(page, 'setup-void')
  await page.goto(`${origin}/admin/setup/${await inviteAdministrator(database.pool, tester, 'ben@hollis.example')}`)
  await look(page, 'setup-invited')
  await page.goto(`${origin}/admin/login`)
  await look(page, 'login')
  for (let attempt = 1; attempt <= 6; attempt++) {
    await trySignIn(page, origin, { ...root, password: 'not the right one' })
    if (attempt === 1) await look(page, 'login-error')
  }
  await page.getByRole('heading', { name: 'Too many attempts' }).waitFor()
  await look(page, 'login-limit')
})

test('the sign-in through an OpenID provider, which is another site', async () => {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const provider = await startProvider([`${origin}/admin/login/callback`])
  const { page } = await open({ PUBLIC_URL: origin, ...provider.environment, OIDC_DOMAINS: 'example.com' }, port)
  // The provider does not prompt: it signs in its last visitor.
  await provider.visit('about:blank', { sub: 'ann', email: 'ann@example.com', email_verified: true })
  await page.goto(`${origin}/admin/audit`)
  await look(page, 'openid-login')
  await page.getByRole('link', { name: 'Sign in with your organisation' }).click()
  await page.getByRole('heading', { name: 'Audit' }).waitFor()
  expect(page.url()).toBe(`${origin}/admin/audit`)
  await page.goto(`${origin}/admin/account`)
  await look(page, 'openid-account')
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.waitForURL(/because=out/)
  // When the provider prompts, its own page redirects back.
  const journey = await page.request.get(`${origin}/admin/login/openid?next=/admin/audit`, { maxRedirects: 0 })
  await page.goto(`${provider.issuer}/a-page-of-theirs`)
  await page.evaluate(`location.href = ${JSON.stringify(journey.headers().location)}`)
  await page.getByRole('heading', { name: 'Audit' }).waitFor()
  expect(page.url()).toBe(`${origin}/admin/audit`)
  await page.getByRole('button', { name: 'Sign out', exact: true }).click()
  await page.waitForURL(/because=out/)
  await provider.visit('about:blank', { sub: 'eve', email: 'eve@example.org', email_verified: true })
  await page.context().clearCookies()
  await page.goto(`${origin}/admin/login`)
  await page.getByRole('link', { name: 'Sign in with your organisation' }).click()
  await page.getByText('not allowed to use this page').waitFor()
  await look(page, 'openid-stranger')
})

test('the list, and the creation of a token', async () => {
  const { page } = full
  await visit('tokens', '/admin/tokens')
  await visit('tokens-no-match', '/admin/tokens?search=nothing+like+it&status=revoked')
  await visit('create', '/admin/tokens/new')
  await page.getByRole('checkbox', { name: /^view_orders/ }).check()
  await page.getByLabel('Date').fill('2020-01-01')
  await page.getByRole('button', { name: 'Create the token' }).last().click()
  await page.getByRole('alert').waitFor()
  await look(page, 'create-field-errors')
  await page.getByLabel('Name').fill('Tills, Harbour')
  await page.getByLabel('Date').fill('')
  await page.getByRole('button', { name: 'Below Hollis Hotels' }).click()
  await page.getByRole('button', { name: 'Below Hollis North' }).click()
  await pickTenant(page, 'o', 'Harbour Spa')
  await page.getByLabel('Reach for Harbour Spa').selectOption('with all below it')
  await look(page, 'create-tenants')
  await page.getByLabel('Find a tenant').fill('nowhere')
  await page.getByRole('button', { name: 'Find' }).click()
  await page.locator('#found').getByText('No tenant matches').waitFor()
  await look(page, 'create-tenants-no-match')
  await page.getByLabel('Find a tenant').fill('')
  await page.getByRole('button', { name: 'Find' }).click()
  await page.getByRole('button', { name: 'Create the token' }).last().click()
  await page.getByRole('heading', { name: 'The token is created' }).waitFor()
  await look(page, 'secret')
})

test('a token: its page, edit, rotation and revocation', async () => {
  const { page, origin, database, build } = full
  const tenantId = await build.tenant({ name: 'The Lighthouse' })
  const make = async (name: string) => (await build.token([tenantId], { name })).id

  await visit('token', `/admin/tokens/${busyId}`)
  await page.getByText('The numbers as a table').first().click()
  await look(page, 'token-numbers')
  const id = await make('Made just now')
  await visit('token-unused', `/admin/tokens/${id}`)
  for (const words of ['has not been used in the last 90 days', 'No errors in the last 90 days']) {
    await page.getByText(words).waitFor()
  }
  await visit('edit', `/admin/tokens/${id}/edit`)
  await editToken(database.pool, tester, id, 1, {
    name: 'Changed by another',
    contact: null,
    permissions: [],
    rateLimit: null,
    tenants: [{ tenantId, withDescendants: false }],
  })
  await page.getByLabel('Contact').fill('me')
  await page.getByRole('button', { name: 'Save the token' }).last().click()
  await page.getByText('has changed this token').waitFor()
  await look(page, 'edit-changed-since')
  await page.getByRole('link', { name: 'Reload the form' }).waitFor()
  expect(await page.getByLabel('Contact').inputValue()).toBe('me')
  expect(await getToken(database.pool, id)).toMatchObject({ name: 'Changed by another', contact: null })
  await visit('rotate', `/admin/tokens/${busyId}/rotate`)
  await visit('revoke', `/admin/tokens/${busyId}/revoke`)
  await page.getByRole('link', { name: 'Cancel' }).click()
  await page.waitForURL(`${origin}/admin/tokens/${busyId}`)

  const old = await make('The old one')
  await rotateToken(database.pool, tester, old, { overlap: 3600, expiresAt: 'inherit' })
  await visit('token-replaced', `/admin/tokens/${old}`)
  await visit('rotate-replaced', `/admin/tokens/${old}/rotate`)
  const revoked = await make('Revoked')
  await page.goto(`${origin}/admin/tokens/${revoked}/revoke`)
  await page.getByRole('button', { name: 'Revoke the token' }).click()
  await page.getByRole('status').waitFor()
  await look(page, 'token-revoked')
  await visit('rotate-no-longer', `/admin/tokens/${revoked}/rotate`)
  await revokeToken(database.pool, tester, id)
})

test('the audit, the administrators, the account', async () => {
  const { page, origin, database } = full
  await visit('audit', '/admin/audit')
  await visit('audit-no-match', '/admin/audit?actor=nobody+at+all')
  await page.getByText('No entry matches all filters.').waitFor()
  await visit('audit-field-errors', '/admin/audit?token=x&from=2026-02-30')

  await createAccount(database, 'ben@hollis.example')
  await page.goto(`${origin}/admin/administrators`)
  await page.getByLabel('E-mail').fill('carol@hollis.example')
  await page.getByRole('button', { name: 'Create the link' }).click()
  await page.getByRole('heading', { name: 'The link is created' }).waitFor()
  await look(page, 'invited')
  await visit('administrators', '/admin/administrators')
  await page.getByLabel('E-mail').fill(ada.email)
  await page.getByRole('button', { name: 'Create the link' }).click()
  await page.getByRole('alert').waitFor()
  await look(page, 'administrators-error')
  await page.getByRole('link', { name: 'Remove ben@hollis.example' }).click()
  await page.getByRole('heading', { name: 'Remove ben@hollis.example?' }).waitFor()
  await look(page, 'administrators-remove')

  await visit('account', '/admin/account')
  await page.getByLabel('Current password').fill('what was it')
  await page.getByLabel('New password').fill('a new one, long')
  await page.getByLabel('The same password again').fill('a new one, wrong')
  await page.getByRole('button', { name: 'Change the password' }).click()
  await page.getByRole('alert').waitFor()
  await look(page, 'account-error')
})

test('error pages', async () => {
  const { page, origin } = full
  await visit('not-found', '/admin/tokens/999999')
  await visit('not-found-page', '/admin/nowhere')
  await page.goto(`${origin}/admin/account`)
  await page.evaluate(`document.querySelectorAll('input[name="_csrf"]').forEach(input => input.remove())`)
  await page.getByRole('button', { name: 'Sign out everywhere' }).click()
  await page.getByText('nothing was changed').waitFor()
  await look(page, 'forbidden')
})
