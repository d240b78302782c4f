import { describe, test } from 'vitest'
import { inviteAdministrator, inviteFirstAdministrator } from '../../src/domain/administrator/invitation.ts'
import { recordTest } from '../../src/domain/event/delivery.ts'
import { createEndpoint, pauseEndpoint } from '../../src/domain/event/endpoint.ts'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { startProvider } from '../admin/provider.ts'
import { createAccount, root } from '../admin/support.ts'
import { startBrowser } from '../support/browser.ts'
import { tester } from '../support/builders.ts'
import { freePort } from '../support/free-port.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { signIn, trySignIn } from './admin-actions.ts'
import { fillWithHotelTokens } from './lifelike.ts'
import { checkLook, saveScreenshot, takesScreenshots } from './look.ts'

const browser = await startBrowser()

/** Starts a service with a new database, and opens a page in a new browser context. */
async function openSite(environment: NodeJS.ProcessEnv = {}, port = 0) {
  const service = await startService(environment)
  const origin = await service.client.app.listen({ host: '127.0.0.1', port })
  const context = await browser.newContext()
  return { ...service, origin, page: await context.newPage() }
}

type Site = Awaited<ReturnType<typeof openSite>>

/**
 * A page to check: its name and its path. When the page answers a form: the texts to type into the form, and the button
 * that sends the form.
 */
type PageToCheck = [name: string, path: string, fields?: Record<string, string>, button?: string]

async function checkPages({ page, origin }: Site, rows: readonly PageToCheck[]): Promise<void> {
  for (const [name, path, fields = {}, button] of rows) {
    await page.goto(origin + path)
    for (const [label, text] of Object.entries(fields)) await page.getByLabel(label).fill(text)
    if (button !== undefined) {
      const shown = page.waitForEvent('domcontentloaded')
      await page.getByRole('button', { name: button }).last().click()
      await shown
    }
    await checkLook(page, name)
  }
}

test('the sign-in pages are accessible and not wider than the screen', async () => {
  const site = await openSite()
  const { pool } = site.database
  const first = `/admin/setup/${await inviteFirstAdministrator(pool, tester)}`
  const short = { 'E-mail': root.email, 'New password': 'too short', 'The same password again': 'too short' }
  await checkPages(site, [
    ['login-no-administrator', '/admin/login'],
    ['setup', first],
    ['setup-field-errors', first, short, 'Create the administrator'],
  ])
  await createAccount(site.database)
  await checkPages(site, [
    ['setup-void', first],
    ['setup-invited', `/admin/setup/${await inviteAdministrator(pool, tester, 'ben@hollis.example')}`],
    ['login-signed-out', '/admin/login?because=out'],
  ])
  await signIn(site.page, site.origin)
  await checkLook(site.page, 'tokens-none')
  await site.page.getByText('There are no active tokens. An integration needs one').waitFor()
  await site.page.context().clearCookies()
  for (let attempt = 1; attempt <= 6; attempt++) {
    await trySignIn(site.page, site.origin, { ...root, password: 'not the right one' })
    if (attempt === 1) await checkLook(site.page, 'login-error')
  }
  await site.page.getByRole('heading', { name: 'Too many attempts' }).waitFor()
  await checkLook(site.page, 'login-limit')
})

test('a person can sign in through an OpenID provider on another site', async () => {
  const port = await freePort()
  const origin = `http://localhost:${port}`
  const provider = await startProvider([`${origin}/admin/login/callback`])
  const { page } = await openSite({ PUBLIC_URL: origin, ...provider.environment, OIDC_DOMAINS: 'example.com' }, port)
  // The provider does not prompt. It signs in the person of its last `visit`.
  await provider.visit('about:blank', { sub: 'ann', email: 'ann@example.com', email_verified: true })
  await page.goto(`${origin}/admin/audit`)
  await checkLook(page, 'openid-login')
  await page.getByRole('link', { name: 'Sign in with your organisation' }).click()
  await page.getByRole('heading', { name: 'Audit' }).waitFor()
  await page.context().clearCookies()
  // A provider that prompts sends a page, which then redirects to the service.
  const journey = await page.request.get(`${origin}/admin/login/openid?next=/admin/audit`, { maxRedirects: 0 })
  await page.goto(`${provider.issuer}/a-page-of-theirs`)
  await page.evaluate(`location.href = ${JSON.stringify(journey.headers().location)}`)
  await page.getByRole('heading', { name: 'Audit' }).waitFor()
  await page.context().clearCookies()
  await provider.visit('about:blank', { sub: 'eve', email: 'eve@example.org', email_verified: true })
  await page.goto(`${origin}/admin/login`)
  await page.getByRole('link', { name: 'Sign in with your organisation' }).click()
  await page.getByText('not allowed to use this page').waitFor()
  await checkLook(page, 'openid-stranger')
})

describe('the pages of an administrator', async () => {
  const site = await openSite({ RATE_LIMIT_PER_MINUTE: '120' })
  const { page, origin, build } = site
  const { pool, platform } = site.database
  const ada = { email: 'ada@hollis.example', password: root.password }
  await createAccount(site.database, ada.email)
  await signIn(page, origin, ada)
  const busy = `/admin/tokens/${await fillWithHotelTokens(site)}`
  // `PICTURES=on npm test -- --project browser` saves the screenshots in the folder of the docs.
  for (const [name, path] of takesScreenshots ? Object.entries({ tokens: '/admin/tokens', token: busy }) : []) {
    await page.goto(origin + path)
    await saveScreenshot(page, name)
  }

  const tenantId = await build.tenant({ name: 'The Lighthouse' })
  await projected(pool)
  const make = async (name: string) => (await build.token([tenantId], { name })).id
  const [unused, revoked] = [await make('Made just now'), await make('Revoked')]
  await revokeToken(pool, tester, revoked)
  const add = (path: string) => createEndpoint(pool, tester, unused, `https://partner.example.com/hooks/${path}`)
  const [failing, paused] = [await add('with/a/long/path/that/needs/a/second/line/on/a/narrow/screen'), await add('b')]
  await platform`
    update gateway.webhook_endpoint
    set failing_since = now() - interval '2 hours', delivered_to = now() - interval '3 hours', secret_version = 2, rotated_at = now()
    where id = ${failing.id}`
  await pauseEndpoint(pool, tester, paused.id)
  const outcome = { messageId: 'test_1', status: null, error: 'SELF_SIGNED_CERT_IN_CHAIN', durationMs: 1_204 }
  await recordTest(pool, tester, failing.id, outcome)
  await createAccount(site.database, 'ben@hollis.example')
  const [ben] = await platform`select id from gateway.administrator where email = 'ben@hollis.example'`
  const typo = { 'New password': 'a new one, long', 'The same password again': 'a new one, wrong' }

  const pages: Record<string, PageToCheck[]> = {
    tokens: [
      ['tokens', '/admin/tokens'],
      ['create', '/admin/tokens/new'],
      ['create-field-errors', '/admin/tokens/new', { Date: '2020-01-01' }, 'Create the token'],
      ['token-unused', `/admin/tokens/${unused}`],
      ['edit', `/admin/tokens/${unused}/edit`],
      ['rotate', `${busy}/rotate`],
      ['secret', `${busy}/rotate`, {}, 'Rotate the token'],
      ['revoke', `/admin/tokens/${unused}/revoke`],
      ['token-revoked', `/admin/tokens/${revoked}`],
    ],
    webhooks: [
      ['webhook', `/admin/webhooks/${failing.id}`],
      ['webhook-field-errors', `/admin/webhooks/${failing.id}`, { From: '2999-01-01T00:00' }, 'Send again'],
      ['webhook-secret', `/admin/webhooks/${paused.id}`, {}, 'Rotate the secret'],
      ['webhook-delete', `/admin/webhooks/${paused.id}/delete`],
      ['webhook-create', `/admin/tokens/${unused}/webhooks`],
    ],
    'the audit, the administrators and the account': [
      ['audit', '/admin/audit'],
      ['audit-field-errors', '/admin/audit?token=x&from=2026-02-30'],
      ['administrators-invited', '/admin/administrators', { 'E-mail': 'carol@hollis.example' }, 'Create the link'],
      ['administrators-error', '/admin/administrators', { 'E-mail': ada.email }, 'Create the link'],
      ['administrators-remove', `/admin/administrators/${ben?.id}/remove`],
      ['account-error', '/admin/account', { 'Current password': 'what was it', ...typo }, 'Change the password'],
      ['not-found', '/admin/nowhere'],
    ],
  }
  test.each(Object.entries(pages))('pages about %s are accessible and not wider than the screen', (_, rows) =>
    checkPages(site, rows))

  test('a page with the numbers of a chart is accessible and not wider than the screen', async () => {
    await page.goto(origin + busy)
    await page.getByText('The numbers as a table').first().click()
    await checkLook(page, 'token-numbers')
  })
})
