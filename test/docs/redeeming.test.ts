/** Tests the samples of a redemption: a platform on the plain tables in each language, and a till. */
import { execFile, spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { decodeJwt, SignJWT } from 'jose'
import { expect, test } from 'vitest'
import { toSigningKey } from '../../src/domain/record/signing-key.ts'
import { createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { createDatabase } from '../support/database.ts'
import { canConnect, freePort, listen } from '../support/free-port.ts'
import { until } from '../support/until.ts'
import { samplesFolder } from './run-samples.ts'

const key = 'ab'.repeat(32)
const port = await freePort()
const issuer = `http://localhost:${port}`
const sample = 'redeeming/redeem'
const pathOfSample = (extension: string) => join(samplesFolder, `${sample}.${extension}`)
// Only the Python of Debian finds the packages that Debian installs.
const languages: Record<string, (port: number) => [program: string, ...args: string[]]> = {
  TypeScript: () => [process.execPath, '--import', 'tsx', pathOfSample('mts')],
  Python: () => ['/usr/bin/python3', pathOfSample('py')],
  PHP: port => ['php', '-d', 'display_errors=stderr', '-S', `127.0.0.1:${port}`, pathOfSample('php')],
}

const database = await createDatabase()
const { platform } = database
const build = createBuilders(database)
const till = await build.tenant({ id: 1, name: 'Till' })
const client = await createApp(database, { PUBLIC_URL: issuer, REDEMPTION_KEYS: key })
await client.app.listen({ host: '127.0.0.1', port })
const { secret } = await build.token([till])

let voucherCount = 0
/**
 * Creates a voucher with a balance of 50.
 *
 * @returns its id and reference, and functions that resolve the voucher and read its row
 */
async function createVoucher(columns: Parameters<typeof build.voucher>[1] = {}) {
  const reference = `CARD-${++voucherCount}`
  const money = { initial_balance: 50, current_balance: 50, currency: 'GBP', allow_part_redeem: true }
  const id = await build.voucher(till, { reference, ...money, ...columns })
  const resolve = async (): Promise<string> =>
    (await client.resolve(secret, till, { voucher_reference: reference })).body.data.redemption_token
  const read = async () => {
    const [row] = await platform`
      select current_balance::float8 as balance, redemption_status as status from purchased_voucher where id = ${id}`
    return row
  }
  return { id, reference, resolve, read }
}

/**
 * Starts the sample platform in a language.
 *
 * @returns its address, and a function that sends a redemption to the platform
 */
async function startPlatform(language: string, ISSUER = issuer) {
  const own = await freePort()
  const [program, ...args] = languages[language]!(own)
  const { host, port, user, database: name } = database.address
  const server = { PGHOST: host, PGPORT: String(port), PGUSER: user, PGDATABASE: name }
  const env = { ...process.env, ...server, ISSUER, TENANT_ID: String(till), PORT: String(own) }
  const child = spawn(program, args, { env, stdio: ['ignore', 'ignore', 'pipe'] })
  let written = ''
  child.stderr.on('data', text => {
    written += text
  })
  afterFile(() => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${own}`
  const isListening = async () => {
    if (child.exitCode !== null) throw new Error(written)
    return canConnect(own)
  }
  await until(`the platform listens: ${language}`, isListening, 60_000)
  const redeem = async (redemption_token: unknown, amount?: unknown) => {
    const body = JSON.stringify({ redemption_token, amount })
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(`${url}/redeem`, { method: 'POST', headers, body })
    const text = await response.text()
    try {
      return { status: response.status, ...JSON.parse(text) }
    } catch {
      throw new Error(`${response.status} ${text} ${written}`)
    }
  }
  return { url, redeem }
}

/** Signs changed claims of a token like the service, to create tokens that the service would not issue. */
const signChangedClaims = (token: string, changed: object, by = key) =>
  new SignJWT({ ...decodeJwt(token), ...changed })
    .setProtectedHeader({ alg: 'ES256', kid: toSigningKey(Buffer.from(key, 'hex')).publicKey.kid })
    .sign(toSigningKey(Buffer.from(by, 'hex')).privateKey)

const eachLanguage = test.each(Object.keys(languages))

eachLanguage('the platform in %s takes an amount once, and refuses the rest', async language => {
  const { url, redeem } = await startPlatform(language)
  const card = await createVoucher()
  const token = await card.resolve()

  // These amounts are refused, so the token stays unused.
  for (const amount of [0, -1, 'all', 0.001, '1e3'])
    expect(await redeem(token, amount), String(amount)).toMatchObject({ status: 422 })
  expect(await redeem(token, 50.01)).toEqual({ status: 409, message: 'Less than that is left on the voucher.' })
  expect(await redeem(token, 12.5)).toEqual({
    ...{ status: 200, reference: card.reference, current_balance: 37.5, currency: 'GBP' },
  })
  expect(await redeem(token, 12.5)).toEqual({ status: 409, message: 'The token was used before.' })
  expect(await card.read()).toEqual({ balance: 37.5, status: 'partially_redeemed' })

  // One of three concurrent requests with the same token succeeds. Then the balance is enough for three of five
  // requests with different tokens.
  const same = await card.resolve()
  const twice = await Promise.all([1, 2, 3].map(() => redeem(same, 0.5)))
  expect(twice.map(({ status }) => status).sort()).toEqual([200, 409, 409])
  const tokens = await Promise.all([1, 2, 3, 4, 5].map(() => card.resolve()))
  const many = await Promise.all(tokens.map(each => redeem(each, 12)))
  expect(many.map(({ status }) => status).sort()).toEqual([200, 200, 200, 409, 409])
  expect(await redeem(await card.resolve())).toMatchObject({ status: 200, current_balance: 0 })
  expect(await card.read()).toEqual({ balance: 0, status: 'redeemed' })

  const other = await createVoucher({ allow_part_redeem: false })
  const valid = await other.resolve()
  expect(await redeem(valid, 10)).toMatchObject({ status: 409, message: expect.stringContaining('as a whole') })
  // The clock of the service may be ahead by some seconds, so a token from the near future is accepted.
  const now = Math.floor(Date.now() / 1000)
  expect(await redeem(await signChangedClaims(valid, { iat: now + 5 }), 10)).toMatchObject({ status: 409 })
  const invalid = { status: 401, message: 'The token is not valid. Resolve the voucher again.' }
  const [header, payload, signature = ''] = valid.split('.')
  const none = Buffer.from('{"alg":"none"}').toString('base64url')
  const swapped = `${header}.${payload}.${signature.slice(43)}${signature.slice(0, 43)}`
  for (const text of [undefined, '', 'a.b.c', `${none}.${payload}.`, swapped])
    expect(await redeem(text, 1), String(text)).toEqual(invalid)
  expect(await redeem(await signChangedClaims(valid, {}, 'cd'.repeat(32)), 1)).toEqual(invalid)
  for (const changed of [{ iss: 'http://localhost:1' }, { aud: 'others' }])
    expect(await redeem(await signChangedClaims(valid, changed), 1)).toEqual(invalid)
  const expired = await signChangedClaims(valid, { exp: now - 30 })
  expect(await redeem(expired, 1)).toMatchObject({ status: 401, message: expect.stringContaining('too old') })
  expect(await redeem(await signChangedClaims(valid, { tenant_id: 2 }), 1)).toMatchObject({ status: 401 })

  for (const [change, message] of [
    [`void = true`, 'void'],
    [`void = false, date_valid_end = current_date - 2`, 'not valid today'],
    [`date_valid_end = null, date_valid_start = current_date + 2`, 'not valid today'],
    [`date_valid_start = null, current_balance = 0`, 'Nothing is left'],
  ] as const) {
    await platform.unsafe(`update purchased_voucher set ${change} where id = ${other.id}`)
    expect(await redeem(valid), change).toMatchObject({ status: 409, message: expect.stringContaining(message) })
  }

  await createVoucher({ reference: 'GIFT-LMAD-KFNK' })
  const environment = { ...process.env, VOUCHER_GATEWAY_URL: issuer, VOUCHER_GATEWAY_TOKEN: secret, PLATFORM_URL: url }
  const { stdout } = await promisify(execFile)('bash', [pathOfSample('sh')], { env: environment })
  expect(JSON.parse(stdout)).toMatchObject({ reference: 'GIFT-LMAD-KFNK', current_balance: 37.5 })
  await platform`delete from purchased_voucher where reference = 'GIFT-LMAD-KFNK'`
})

eachLanguage('the platform in %s blames no token when it cannot read the key set', async language => {
  const overloaded = await listen(createServer((_request, response) => response.writeHead(503).end()))
  const token = await (await createVoucher()).resolve()
  for (const unreadable of [overloaded, await freePort()]) {
    const { redeem } = await startPlatform(language, `http://localhost:${unreadable}`)
    expect(await redeem(token, 1)).toEqual({ status: 500, message: 'Try again.' })
  }
})
