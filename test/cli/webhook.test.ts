import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { webhookSecret } from '../../src/domain/event/secret.ts'
import { whole } from '../support/builders.ts'
import { run } from '../support/process.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { answerWith, startReceiver } from '../webhook/receiver.ts'

const key = randomBytes(32)
const configuration = { WEBHOOK_NETWORKS: '127.0.0.0/8', WEBHOOK_KEY: key.toString('hex') }
const { database, build } = await startService(configuration)
const tenant = await build.tenant()
await projected(database.pool)
const { id: tokenId } = await build.token([whole(tenant)])
const receiver = await startReceiver()

const { NODE_EXTRA_CA_CERTS } = process.env
const webhook = (...args: string[]) =>
  run(['webhook', ...args], { DATABASE_URL: database.url, NODE_EXTRA_CA_CERTS, ...configuration })

async function runJson(...args: string[]) {
  const { code, stdout, stderr } = await webhook(...args, '--json')
  expect(code, stderr).toBe(0)
  return JSON.parse(stdout)
}

test('the commands add, test, pause, resume, replay, rotate and delete a webhook', async () => {
  const insecure = { code: 2, stderr: expect.stringContaining('must begin with https://') }
  expect(await webhook('create', '--token', String(tokenId), '--url', 'http://a.example')).toMatchObject(insecure)
  expect(await webhook('pause', '999999')).toMatchObject({ code: 1, stderr: 'No such webhook.\n' })
  const added = await webhook('create', '--token', String(tokenId), '--url', receiver.url)
  expect(added.code, added.stderr).toBe(0)
  const [{ id }] = await runJson('list', '--token', String(tokenId))
  expect(added.stdout).toContain(`\n  ${webhookSecret(key, id, 1)}\n`)
  receiver.secrets = [webhookSecret(key, id, 1), webhookSecret(key, id, 2)]
  expect((await webhook('test', String(id))).stdout).toBe('Delivered. (204)\n')
  expect(receiver.received).toMatchObject([{ type: 'test', validBy: [receiver.secrets[0]] }])
  receiver.respond = answerWith(401)
  const stdout = expect.stringContaining('let it check the signature')
  expect(await webhook('test', String(id))).toMatchObject({ code: 1, stdout })
  receiver.respond = answerWith(204)

  expect(await runJson('pause', String(id))).toMatchObject({ state: 'paused', pause_reason: 'administrator' })
  expect((await webhook('show', String(id))).stdout).toMatch(/^state +paused$[\s\S]*^\S+ +test +The receiver wants/m)
  expect(await runJson('rotate', String(id))).toMatchObject({ secret: receiver.secrets[1], secret_version: 2 })
  await build.voucher(tenant)
  await runJson('resume', String(id))
  const isEvent = ({ type }: { type: string }) => type === 'purchased_vouchers.changed'
  await until('the event', () => receiver.received.some(isEvent))
  await runJson('replay', String(id), '--from', '2h')
  await until('the event again', () => receiver.received.filter(isEvent).length > 1)
  expect(receiver.received.at(-1)?.validBy.length).toBe(2)
  expect((await runJson('show', String(id))).deliveries[0]).toMatchObject({ status: 204, error: null })

  expect((await webhook('delete', String(id))).stdout).toBe(`Webhook ${id} is deleted.\n`)
  expect((await webhook('list')).stdout).toContain('webhook create --help')
  const entries = await database.platform`
    select action from gateway.audit_entry where token_id = ${tokenId} and action ~ 'webhook' order by id`
  const actions = ['create', 'test', 'test', 'pause', 'rotate', 'resume', 'replay', 'delete']
  expect(entries.map(({ action }) => action)).toEqual(actions.map(action => `webhook.${action}`))
})
