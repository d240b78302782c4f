/** Tests the webhooks of a token on the API access page. */
import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { webhookSecret } from '../../src/domain/event/secret.ts'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { tester, whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { answerWith, startReceiver } from '../webhook/receiver.ts'
import { type Page, readTableRows, root, signIn } from './support.ts'

const key = randomBytes(32)
const settings = { WEBHOOK_NETWORKS: '127.0.0.0/8', WEBHOOK_KEY: key.toString('hex') }
const { database, build, client } = await startService(settings)
const browser = await signIn(client, database)
const tenant = await build.tenant()
await projected(database.pool)

const secretOf = ({ html }: Page) => /id="secret"[^>]*>(whsec_[^<]+)</.exec(html)?.[1] ?? ''

/** Creates a token and a receiver, and adds a webhook for them on the page. */
async function addWebhook() {
  const receiver = await startReceiver()
  const token = await build.token([whole(tenant)])
  const page = await browser.submit(`/admin/tokens/${token.id}/webhooks`, { url: receiver.url })
  expect(page.status, page.text).toBe(201)
  const id = Number(/\/admin\/webhooks\/(\d+)"/.exec(page.html)?.[1])
  const path = `/admin/webhooks/${id}`
  receiver.secrets = [1, 2, 3].map(version => webhookSecret(key, id, version))
  const submit = (action: string, fields = {}) => browser.submit(path, fields, { action: `${path}/${action}` })
  const actions = async () => {
    const entries = await database.platform`
      select action from gateway.audit_entry where token_id = ${token.id} and action ~ 'webhook' and actor = ${root.email}
      order by id`
    return entries.map(({ action }) => action)
  }
  return { receiver, token, id, path, submit, actions, secret: secretOf(page), show: () => browser.get(path) }
}

test('a new webhook is shown with its token, and its secret is shown once', async () => {
  const { receiver, token, id, path, secret, show } = await addWebhook()
  expect(secret).toBe(webhookSecret(key, id, 1))
  const again = await browser.submit(`/admin/tokens/${token.id}/webhooks`, { url: receiver.url })
  expect([again.status, again.text]).toEqual([422, expect.stringContaining(`Webhook ${id} of this token already`)])
  const wrong = await browser.submit(`/admin/tokens/${token.id}/webhooks`, { url: 'http://partner.example.com/' })
  expect([wrong.status, wrong.text]).toEqual([422, expect.stringContaining('must begin with https://')])
  const ofToken = await browser.get(`/admin/tokens/${token.id}`)
  expect(readTableRows(ofToken.html)).toContainEqual([receiver.url, 'active', 'in step'])
  expect(ofToken.html).toContain(`href="${path}"`)
  for (const { html } of [ofToken, await show()]) expect(html).not.toContain('whsec_')

  await build.voucher(tenant)
  await until('a delivery', async () => (await show()).text.includes('Delivered. (204)'))
  const delivery = ['purchased_vouchers.changed', String(tenant), 'Delivered. (204)']
  expect(readTableRows((await show()).html)[1]?.slice(1, 4)).toEqual(delivery)
})

test('a test event is sent immediately, even to a paused webhook, and after a failure the page names the remedy', async () => {
  const { receiver, path, submit, actions, show } = await addWebhook()
  expect(await submit('test')).toMatchObject({ status: 303, location: path })
  expect((await show()).text).toContain('The test was sent. Delivered. (204)')
  expect(receiver.received).toMatchObject([{ type: 'test', validBy: [expect.any(String)] }])
  await submit('pause')
  receiver.respond = answerWith(404)
  await submit('test')
  expect((await show()).text).toContain('The receiver does not know the path of the URL: correct the URL. (404)')
  receiver.respond = () => null
  await submit('test')
  expect((await show()).text).toContain('No answer yet')
  expect(await actions()).toEqual(['webhook.create', 'webhook.test', 'webhook.pause', 'webhook.test'])
})

test('a webhook can be paused and resumed, and the page shows the time and the reason of the pause', async () => {
  const { receiver, submit, show } = await addWebhook()
  await submit('pause')
  expect((await show()).text).toMatch(/paused since .* UTC by an administrator/)
  await build.voucher(tenant)
  await submit('resume')
  await until('the event', () => receiver.received.length === 1)
  expect((await show()).text).toMatch(/State active/)
})

test('each form for a replay or a rotation of the secret takes effect only once', async () => {
  const { receiver, id, path, submit, actions } = await addWebhook()
  await build.voucher(tenant)
  await until('the event', () => receiver.received.length === 1)
  const early = await submit('replay', { from: '2999-01-01T00:00' })
  expect(early).toMatchObject({ status: 422, text: expect.stringContaining('Give a time in the past.') })
  const form = await browser.load(path, {}, `${path}/rotate`)
  const rotated = await browser.send(form)
  expect(secretOf(rotated)).toBe(webhookSecret(key, id, 2))
  expect(await browser.send(form)).toMatchObject({ status: 422, text: expect.stringContaining('changed meanwhile') })
  await submit('replay', { from: new Date(Date.now() - 60_000).toISOString().slice(0, 16) })
  await until('the events again', () => receiver.received.length > 1)
  expect(receiver.received.at(-1)?.validBy).toEqual(receiver.secrets.slice(0, 2))
  expect(await actions()).toEqual(['webhook.create', 'webhook.rotate', 'webhook.replay'])
})

test('a webhook is deleted only after a confirmation, and an ended token gets no events', async () => {
  const gone = await addWebhook()
  expect(await browser.submit(`${gone.path}/delete`)).toMatchObject({ location: `/admin/tokens/${gone.token.id}` })
  expect((await gone.show()).status).toBe(404)
  expect(await gone.actions()).toEqual(['webhook.create', 'webhook.delete'])
  expect((await browser.get('/admin/audit')).text).toContain('Webhook deleted')

  const ended = await addWebhook()
  const form = await browser.load(ended.path, {}, `${ended.path}/test`)
  await revokeToken(database.pool, tester, ended.token.id)
  expect(await browser.send(form)).toMatchObject({ status: 422, text: expect.stringContaining('nothing is sent') })
  expect((await ended.show()).text).toMatch(/State token ended/)
  expect((await browser.get(`/admin/tokens/${ended.token.id}/webhooks`)).text).toContain('This token is not active')
})
