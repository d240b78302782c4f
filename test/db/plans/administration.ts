import { inviteAdministrator, inviteFirstAdministrator } from '../../../src/domain/administrator/invitation.ts'
import { verifyOpenIdAdministrator } from '../../../src/domain/administrator/openid.ts'
import { type Browser, createBrowser, type Fields, formsOf, type Page, root, signIn } from '../../admin/support.ts'
import { tester } from '../../support/builders.ts'
import { createJourney, type Journey, type Parts } from './journey.ts'

let signedInBrowser: Promise<Browser> | undefined

/** Returns the browser of an administrator. The first call creates the administrator and signs in. */
const openBrowser = (parts: Parts) => {
  signedInBrowser ??= signIn(parts.client, parts)
  return signedInBrowser
}

const createVisit = (path: string) => async (parts: Parts) =>
  expectStatus(await (await openBrowser(parts)).get(path), 200)

const createSubmit =
  (path: string, fields: Fields, status = 303, action?: string) =>
  async (parts: Parts) =>
    expectStatus(await (await openBrowser(parts)).submit(path, fields, action ? { action } : {}), status)

function expectStatus(page: Page, status: number): Page {
  if (page.status !== status) throw new Error(`${page.status} ${page.text}`)
  return page
}

/** A day for which the seeded tables have rows. */
const dayWithEntries = new Date(Date.now() - 30 * 86_400_000).toISOString().slice(0, 10)

const repeatPassword = (password: string) => ({ password, again: password })
const newTokenFields = { name: 'Till', tenant: '54321', permission: ['view_vouchers'] }

const fewTokens = 'They are few, because people create them.'
const readsUntilPageIsFull = `Reads tokens from the newest on until the page is full. ${fewTokens}`
const noIndexForPartOfName = 'No index finds a part of a name: a search by a person reads all tenants.'
const noIndexForPartOfActor =
  'No index finds a part of a name: reads entries in their order until the page is full, or within given days.'

/** Pages with the names of their statements. `excused` is the reason why a page may read a whole table. */
const pages: [what: string, runs: string, path: string, excused?: string][] = [
  ['the account', 'session.find session.list administrator.get', '/admin/account'],
  ['the administrators', 'administrator.list invitation.list', '/admin/administrators'],
  ['the tokens', 'token.list', '/admin/tokens'],
  ['older tokens', 'token.list', '/admin/tokens?before=50000'],
  ['newer tokens', 'token.list', '/admin/tokens?after=50000'],
  ['tokens to look at', 'token.count_in_need', '/admin/tokens', `Counts all tokens. ${fewTokens}`],
  ['tokens in another order', 'token.list', '/admin/tokens?sort=used', `Orders all tokens. ${fewTokens}`],
  ['tokens that hold', 'token.list', '/admin/tokens?status=active'],
  ['tokens with a permission', 'token.list', '/admin/tokens?permission=view_orders&status=any', readsUntilPageIsFull],
  ['tokens with a word', 'token.list', '/admin/tokens?search=token%20555&status=any', readsUntilPageIsFull],
  ['tokens of a tenant', 'token.list', '/admin/tokens?tenant=Tenant%20500', noIndexForPartOfName],
  ['a token', 'token.get request_count.list request_error.list export.list webhook.list', '/admin/tokens/500'],
  ['the audit', 'audit.list', '/admin/audit'],
  ['older entries', 'audit.list', '/admin/audit?before=50000'],
  ['newer entries', 'audit.list', '/admin/audit?after=50000'],
  ['entries of one kind', 'audit.list', '/admin/audit?action=token.edit'],
  ['entries about a token', 'audit.list', '/admin/audit?token=500'],
  ['entries about a token, older', 'audit.list', '/admin/audit?token=500&before=50000'],
  ['entries about a tenant', 'audit.list', '/admin/audit?tenant=500'],
  ['entries about a tenant that has none', 'audit.list', '/admin/audit?tenant=99999'],
  ['entries about a tenant, of one kind', 'audit.list', '/admin/audit?tenant=500&action=customer.export'],
  ['entries about a tenant, older', 'audit.list', '/admin/audit?tenant=500&before=50000'],
  ['entries of some days', 'audit.list', `/admin/audit?from=${dayWithEntries}&to=${dayWithEntries}`],
  [
    'entries of some days, older',
    'audit.list',
    `/admin/audit?from=${dayWithEntries}&to=${dayWithEntries}&before=50000`,
  ],
  [
    'entries of some days about a token',
    'audit.list',
    `/admin/audit?from=${dayWithEntries}&to=${dayWithEntries}&token=500`,
  ],
  ['entries of one actor', 'audit.list', '/admin/audit?actor=unknown', noIndexForPartOfActor],
]

const choices: [what: string, runs: string, fields: Fields, excused?: string][] = [
  ['searching tenants', 'tenant_tree.search', { search: 'tenant 777', do: 'find' }, noIndexForPartOfName],
  [
    'choosing a tenant, and those below one',
    'tenant_tree.search tenant_tree.place',
    { tenant: '1234', do: 'below:12' },
  ],
  ['adding all found tenants', 'tenant_tree.found', { searched: 'tenant 777', do: 'add-all' }, noIndexForPartOfName],
]

/** The journeys of administrators, and of people who sign in. */
export const administration: Journey[] = [
  createJourney(
    'signing in',
    'administrator.set_password administrator.exists administrator.find_credentials session.start',
    openBrowser,
  ),
  createJourney('a sign-in that is refused', 'administrator.record_failed_sign_in', async ({ client }) => {
    const page = await createBrowser(client.app).submit('/admin/login', { email: root.email, password: 'wrong' })
    expectStatus(page, 422)
  }),
  createJourney('a sign-in through the OpenID provider', 'administrator.verify_openid', async ({ pool }) => {
    const claims = { subject: 'issuer 1', email: 'open@example.com', name: 'open@example.com' }
    for (let time = 0; time < 2; time++) await verifyOpenIdAdministrator(pool, tester, claims)
  }),
  ...[
    ['/admin/logout', 'session.sign_out session.delete'],
    ['/admin/account/sign-out-everywhere', 'session.sign_out_everywhere'],
  ].map(([action = '', runs = ''], at) =>
    createJourney(`signing out with ${action}`, runs, async parts => {
      const browser = await signIn(parts.client, parts, { email: `person${at + 1}@example.com` })
      return browser.submit('/admin/account', {}, { action })
    }),
  ),
  createJourney(
    'another password',
    'administrator.change_password session.save',
    createSubmit(
      '/admin/account',
      { current: root.password, ...repeatPassword(root.password) },
      303,
      '/admin/account/password',
    ),
  ),
  createJourney('inviting, and withdrawing it', 'invitation.create invitation.withdraw', async parts => {
    await createSubmit('/admin/administrators', { email: 'ann@example.com' }, 201, '/admin/administrators')(parts)
    await createSubmit('/admin/administrators', {}, 303, '/admin/administrators/withdraw')(parts)
  }),
  createJourney('an invitation', 'invitation.find administrator.set_password', async ({ pool, client }) => {
    const secret = await inviteAdministrator(pool, tester, 'bob@example.com')
    const fields = repeatPassword('much deep green water')
    expectStatus(await createBrowser(client.app).submit(`/admin/setup/${secret}`, fields), 303)
  }),
  createJourney('inviting the first', 'invitation.create_first', ({ pool }) => inviteFirstAdministrator(pool, tester)),
  createJourney(
    'removing a person',
    'administrator.get administrator.remove',
    createSubmit('/admin/administrators/3/remove', {}),
  ),
  createJourney(
    'a webhook: added, tested, and shown',
    'webhook.create webhook.get webhook.record_test webhook.list_deliveries',
    async parts => {
      const url = 'https://localhost:44300/'
      const { html } = await createSubmit('/admin/tokens/501/webhooks', { url }, 201)(parts)
      const path = /\/admin\/webhooks\/\d+/.exec(html)?.[0] ?? ''
      await createSubmit(path, {}, 303, `${path}/test`)(parts)
      await createVisit(path)(parts)
    },
  ),
  createJourney('making a token twice with one form', 'token.create token.find_by_idempotency_key', async parts => {
    const browser = await openBrowser(parts)
    const filled = formsOf((await browser.get('/admin/tokens/new')).html).at(-1)!.fields
    for (const [name, value] of Object.entries({ ...newTokenFields, do: 'save' })) filled.set(name, String(value))
    expectStatus(await browser.post('/admin/tokens/new', filled), 201)
    await browser.post('/admin/tokens/new', filled)
  }),
  createJourney(
    'editing a token',
    'token.edit',
    createSubmit('/admin/tokens/600/edit', { ...newTokenFields, do: 'save' }),
  ),
  createJourney(
    'rotating a token',
    'token.rotate',
    createSubmit('/admin/tokens/601/rotate', { overlap: '0', expiresAt: 'inherit' }, 201),
  ),
  createJourney('revoking a token', 'token.revoke', createSubmit('/admin/tokens/602/revoke', {})),
  ...choices.map(([what, runs, fields, excused]) =>
    createJourney(
      what,
      runs,
      createSubmit('/admin/tokens/new', { ...newTokenFields, ...fields }, 200),
      excused ? { excused } : {},
    ),
  ),
  createJourney(
    'opening the dashboard for all tenants',
    'tenant_tree.roots token.create',
    createSubmit('/admin/dashboard', {}, 201, '/admin/dashboard'),
  ),
  ...pages.map(([what, runs, path, excused]) =>
    createJourney(what, runs, createVisit(path), excused ? { excused } : {}),
  ),
  createJourney(
    'the audit as CSV',
    'audit.record_export audit.list',
    createVisit('/admin/audit.csv?action=token.edit'),
    {
      walks: 'A batch is a thousand entries, and names are looked up for each.',
    },
  ),
]
