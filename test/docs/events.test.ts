/**
 * Tests the samples of webhooks: a receiver in each language, and the sample for curl, which signs a request like the
 * service.
 */
import { execFile, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { afterFile } from '../support/cleanups.ts'
import { createDirectory } from '../support/directory.ts'
import { canConnect, freePort } from '../support/free-port.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { samplesFolder } from './run-samples.ts'

const sample = 'events/receive'
const pathOfSample = (extension: string) => join(samplesFolder, `${sample}.${extension}`)
const node = [process.execPath, '--import', import.meta.resolve('tsx'), pathOfSample('mts')]
const languages: Record<string, (port: number) => string[][]> = {
  TypeScript: () => [node],
  Python: () => [['python3', pathOfSample('py')]],
  PHP: port => [
    ['php', '-q', '-S', `127.0.0.1:${port}`, pathOfSample('php')],
    ['php', '-d', 'display_errors=stderr', pathOfSample('php')],
  ],
}

const { database, build, client } = await startService()
const origin = await client.app.listen({ host: '127.0.0.1', port: 0 })
const tenant = await build.tenant()
const { secret: token } = await build.token([tenant])
// The list has more vouchers than one page.
await database.platform`
  insert into purchased_voucher (id, tenant_id, reference, initial_balance, current_balance, currency)
  select n, ${tenant}, 'REF-' || n, 25, 25, 'GBP' from generate_series(1, 60) n`
await projected(database.pool)

const [former, secret] = ['b', 'a'].map(letter => `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`)
const address = `${origin}/api/external/v1/tenants/${tenant}/sales/purchased-vouchers`
const environment = { VOUCHER_GATEWAY_URL: origin, VOUCHER_GATEWAY_TOKEN: token }

/** Returns an event for changes from `since` up to the newest change of the list. */
async function createEvent(since: string | null) {
  const [row] = await database.platform<{ now: string }[]>`
    select to_char(max(updated_at) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as now from gateway.voucher`
  const query = since === null ? '' : `?updated_since=${encodeURIComponent(since)}`
  const event = { type: 'purchased_vouchers.changed', tenant_id: tenant, updated_since: since, server_time: row!.now }
  return { ...event, url: address + query }
}

const changeVoucher = async (id: number) => {
  await database.platform`update purchased_voucher set current_balance = current_balance - 1 where id = ${id}`
  await projected(database.pool)
}

/** Starts a receiver in a directory. @returns its address, the ids that it has printed, and a function that stops it */
async function startReceiver(language: string, directory: string) {
  const port = await freePort()
  const env = { ...process.env, ...environment, WEBHOOK_SECRET: `${former} ${secret}`, PORT: String(port) }
  const ids: number[] = []
  const children = (languages[language]?.(port) ?? []).map(([program = '', ...args]) =>
    spawn(program, args, { cwd: directory, env, stdio: ['ignore', 'pipe', 'ignore'] }),
  )
  for (const { stdout } of children) {
    let text = ''
    stdout.on('data', piece => {
      const lines = `${text}${piece}`.split('\n')
      text = lines.pop() ?? ''
      ids.push(...lines.flatMap(line => (line.startsWith(`${address} `) ? [Number(line.split(' ')[1])] : [])))
    })
  }
  const stop = () => children.map(child => child.kill('SIGKILL'))
  afterFile(stop)
  await until(`the receiver listens: ${language}`, () => canConnect(port), 60_000)
  return { url: `http://127.0.0.1:${port}/`, ids, stop }
}

const readUnixSeconds = () => Math.floor(Date.now() / 1000)

/** Sends a signed event to a receiver. @returns the status of the answer */
async function sendEvent(url: string, body: string, { by = secret!, time = readUnixSeconds(), signed = body } = {}) {
  // The id is a hash of the body, so a repeated event has the same id.
  const id = `msg_${createHash('sha256').update(body).digest('hex')}`
  const signature = `v1a,AAAA ${new Webhook(by).sign(id, new Date(time * 1000), signed)}`
  const headers = { 'webhook-id': id, 'webhook-timestamp': String(time), 'webhook-signature': signature }
  return (await fetch(url, { method: 'POST', body, headers })).status
}

test.each(Object.keys(languages))('the receiver in %s reads what changed, and all after a restore', async language => {
  const directory = createDirectory()
  const { url, ids, stop } = await startReceiver(language, directory)
  const seen = (what: string, holds: () => boolean) => until(`${language}: ${what}`, holds, 30_000)
  const first = JSON.stringify(await createEvent('2026-11-30T09:00:00.000000Z'))
  const now = readUnixSeconds()
  const forged = [{ by: `whsec_${'c'.repeat(43)}=` }, { signed: `${first} ` }, { time: now - 400 }, { time: now + 400 }]
  for (const bad of forged) expect(await sendEvent(url, first, bad), JSON.stringify(bad)).toBe(400)
  expect((await fetch(url, { method: 'POST', body: first })).status).toBe(400)
  // The sample for curl sends a test event without an argument, or the event in its argument.
  for (const body of [[], [first]]) {
    const env = { ...process.env, WEBHOOK_SECRET: secret, RECEIVER_URL: url }
    expect((await promisify(execFile)('bash', [pathOfSample('sh'), ...body], { env })).stdout).toBe('204\n')
  }
  await seen('all pages of a list without a bound', () => ids.length === 60)
  await changeVoucher(7)
  const second = JSON.stringify(await createEvent(JSON.parse(first).server_time))
  for (const body of [first, second, second]) expect(await sendEvent(url, body, { by: former! })).toBe(204)
  await seen('a change', () => ids.slice(60).includes(7))
  // `updated_since` includes its bound, so the receiver may read the record at the bound twice.
  expect(ids.length).toBeLessThan(64)
  const before = ids.length
  expect(await sendEvent(url, JSON.stringify(await createEvent(null)))).toBe(204)
  await seen('the list after a restore', () => ids.length === before + 60)
  await seen(
    'no event waits',
    () => !readdirSync(directory, { recursive: true }).some(name => String(name).includes('events/')),
  )
  stop()
  await changeVoucher(8)
  const again = await startReceiver(language, directory)
  // The receiver in PHP stores events before it answers, so it needs a new event. The other receivers read their lists
  // at the start.
  if (language === 'PHP') await sendEvent(again.url, JSON.stringify(await createEvent(JSON.parse(second).server_time)))
  await seen('a change while the receiver was away', () => again.ids.includes(8))
  expect(again.ids.length).toBeLessThan(4)
})
