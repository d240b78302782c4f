/** The database, the service, its documents and its pages must state the same facts. */
import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { statuses } from '../../packages/dashboard/src/figures/status-words.ts'
import { intervals } from '../../packages/dashboard/src/period.ts'
import { readConfig } from '../../src/config/config.ts'
import { variableNames } from '../../src/config/variables.ts'
import { arrayText } from '../../src/db/sql.ts'
import { parseEmail } from '../../src/domain/administrator/administrator.ts'
import { permissionNames } from '../../src/domain/token/permission.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'

const { build, client, pool } = await startService()
const tenantId = await build.tenant()
const { secret } = await build.token([tenantId])

const checksOf = async (table: string) =>
  (
    await pool`
    select pg_get_expr(conbin, conrelid) as sql from pg_constraint where contype = 'c' and conrelid = ${table}::regclass`
  ).map(({ sql }): string => sql)

test.each([
  ['Permission', [...permissionNames]],
  ['VoucherStatus', statuses],
  ['FigureInterval', [...intervals]],
])('the enum %s of the GraphQL schema has the same values as the code of the service', async (name, values) => {
  const { __type: type } = await client.read(secret, `{ __type(name: "${name}") { enumValues { name } } }`)
  expect(type.enumValues.map((value: { name: string }) => value.name).sort()).toEqual([...values].sort())
})

test('the database accepts exactly the permissions that the service knows', async () => {
  const [check = ''] = (await checksOf('gateway.token')).filter(sql => sql.includes('permissions'))
  expect([...check.matchAll(/'(\w+)'/g)].map(([, name]) => name).sort()).toEqual([...permissionNames].sort())
})

test('the maximum lengths of voucher names are the same as in the OpenAPI document, in characters', async () => {
  const document = readFileSync(new URL('../../schema/openapi.v1.json', import.meta.url), 'utf8')
  for (const [name, column] of [
    ['voucher_reference', 'reference'],
    ['qr_token', 'qr_token'],
  ] as const) {
    const length = Number(new RegExp(`"${name}": \\{\\s*"type": "string",\\s*"maxLength": (\\d+)`).exec(document)?.[1])
    const text = '🎁'.repeat(length)
    await build.voucher(tenantId, { [column]: text })
    const longer = await build.voucher(tenantId, { [column]: `${text}🎁` })
    await projected(pool)
    const reason = `${column} has more than ${length} characters`
    expect(await pool`select reason from gateway.rejected where key = ${longer}::text`).toEqual([{ reason }])
    expect((await client.resolve(secret, tenantId, { [name]: text })).status).toBe(200)
    expect((await client.resolve(secret, tenantId, { [name]: `${text}🎁` })).status).toBe(422)
  }
})

test('the database accepts exactly the e-mail addresses that the service accepts', async () => {
  const part = fc.string({ unit: fc.constantFrom(...'ab@ÉéſßİΣς. \t\u0085\u00a0\u200b\ufeff🎁'), maxLength: 6 })
  const long = fc.integer({ min: 249, max: 254 }).map(length => `${'🎁'.repeat(length)}@x.y`)
  const whole = fc.tuple(part, part).map(parts => parts.join('@'))
  const drawn = fc.sample(fc.oneof(part, long, whole), 2000)
  const texts = drawn.flatMap(text => [text, parseEmail(text) ?? text])
  const check = (await checksOf('gateway.administrator')).join(' and ')
  const accepted = await pool<{ email: string }[]>`
    select email from unnest(${arrayText(texts)}::text::text[]) as email where ${pool.unsafe(check)}`
  const own = texts.filter(text => parseEmail(text) === text)
  expect(own.length).toBeGreaterThan(100)
  expect(accepted.map(({ email }) => email)).toEqual(own)
})

test('.env.example has each variable with its default', () => {
  const example = readFileSync(new URL('../../.env.example', import.meta.url), 'utf8')
  const values = Object.fromEntries([...example.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value]))
  expect(Object.keys(values).sort()).toEqual([...variableNames].sort())
  expect(readConfig(values)).toEqual(readConfig({}))
})
