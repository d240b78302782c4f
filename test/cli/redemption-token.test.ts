import { expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { run } from '../support/process.ts'
import { startService } from '../support/service.ts'

const { database, build, client } = await startService()
const tenantId = await build.tenant()
await build.voucher(tenantId, { reference: 'ONE' })
const { secret } = await build.token([tenantId])
const issueToken = async (by = client): Promise<string> =>
  (await by.resolve(secret, tenantId, { voucher_reference: 'ONE' })).body.data.redemption_token
const runCommand = (args: string[], environment: NodeJS.ProcessEnv = {}) =>
  run(args, { DATABASE_URL: database.url, ...environment })

async function checkByCommand(token: string, args: string[] = [], environment: NodeJS.ProcessEnv = {}) {
  const { code, stdout, stderr } = await runCommand(
    ['redemption-token', 'check', token, '--json', ...args],
    environment,
  )
  expect(stderr).toBe('')
  return { code, ...JSON.parse(stdout) }
}

test('the command explains the claims of a valid token', async () => {
  const token = await issueToken()
  const claims = expect.objectContaining({ tenant_id: tenantId, aud: 'redemption' })
  expect(await checkByCommand(token, ['--tenant', String(tenantId)])).toEqual({
    code: 0,
    valid: true,
    problems: [],
    claims,
  })
  const { stdout } = await runCommand(['redemption-token', 'check', token])
  expect(stdout).toMatch(/^CLAIM +VALUE\niss +http:\/\/localhost:8080\n/)
  expect(stdout).toMatch(/\n\nThe token is valid\. A redemption accepts its jti once\.\n$/)
})

test('the command prints one sentence per problem of a token', async () => {
  const token = await issueToken()
  const problems = async (...given: Parameters<typeof checkByCommand>) => {
    const { code, valid, problems } = await checkByCommand(...given)
    expect([code, valid]).toEqual([1, false])
    return problems.join('\n')
  }
  expect(await problems('nonsense')).toContain('It is no JWT')
  const [header, payload = '', signature] = token.split('.')
  const claims = JSON.parse(`${Buffer.from(payload, 'base64url')}`)
  const changed = Buffer.from(JSON.stringify({ ...claims, voucher_id: 999_999 })).toString('base64url')
  expect(await problems(`${header}.${changed}.${signature}`)).toBe('The signature is wrong: the token was changed.')
  const none = Buffer.from(JSON.stringify({ alg: 'none', kid: JSON.parse(`${Buffer.from(header!, 'base64url')}`).kid }))
  expect(await problems(`${none.toString('base64url')}.${payload}.`)).toBe('It is not signed with ES256.')
  expect(await problems(token, ['--tenant', '999'])).toBe(`It is for the tenant ${tenantId}, and not 999.`)
  const elsewhere = { PUBLIC_URL: 'https://other.example.com', REDEMPTION_AUDIENCE: 'tills' }
  expect(await problems(token, [], elsewhere)).toBe(
    `The issuer is http://localhost:8080, and not https://other.example.com (PUBLIC_URL).
The audience is redemption, and not tills (REDEMPTION_AUDIENCE).`,
  )
  const brief = await issueToken(await createApp(database, { REDEMPTION_TOKEN_TTL: '1' }))
  const expired = [expect.stringMatching(/^It has expired at 2\d{3}-.*\. Resolve the voucher again\.$/)]
  await expect.poll(async () => (await checkByCommand(brief)).problems).toEqual(expired)
})

test('the command removes control characters from the text of a token, which may be forged', async () => {
  const [header = ''] = (await issueToken()).split('.')
  const { kid } = JSON.parse(`${Buffer.from(header, 'base64url')}`)
  const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')
  const forged = [
    encode({ alg: 'ES256', kid, crit: ['\u009bx'], '\u009bx': true }),
    encode({ iss: '\u001b[2J\u202eme', 'a\u009bb': '\n', aud: { toString: 1 }, exp: 'now' }),
    '',
  ].join('.')
  const { code, stdout } = await runCommand(['redemption-token', 'check', forged])
  expect(code).toBe(1)
  expect(stdout).not.toMatch(/[^\P{Cc}\n]|\p{Cf}/u)
  expect(stdout).toContain('The issuer is  [2J me, and not http://localhost:8080 (PUBLIC_URL).')
})

test('after a rotation both keys are published, and with --lost only the new key', async () => {
  const former = await issueToken()
  const rotated = await runCommand(['keys', 'rotate', '--json'])
  expect(JSON.parse(rotated.stdout)).toEqual({ kid: expect.stringMatching(/^[\w-]{43}$/), signs_in_seconds: 600 })
  expect((await checkByCommand(former)).valid).toBe(true)
  const { stdout } = await runCommand(['keys', 'rotate', '--lost'])
  expect(stdout).toMatch(/^The key [\w-]{43} is added\. It signs redemption tokens at each instance within 5 seconds\./)
  expect((await checkByCommand(former)).problems).toEqual([
    expect.stringMatching(/^The key [\w-]{43} is not published: /),
  ])
  const refused = await runCommand(['keys', 'rotate'], { REDEMPTION_KEYS: 'ab'.repeat(32) })
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('REDEMPTION_KEYS has the keys.')])
})
