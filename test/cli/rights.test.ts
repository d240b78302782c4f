import { expect, test } from 'vitest'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { createLogin } from '../support/login.ts'
import { refusalOf, run } from '../support/process.ts'

const listTokens = (DATABASE_URL: string) => run(['token', 'list', '--json'], { DATABASE_URL })
const noTokens = { code: 0, stdout: '[]\n', stderr: '' }

test.each([
  ['the role', () => 'select'],
  [
    'the role, but with access to the schema,',
    (login: string) => `grant usage on schema gateway to ${login}; grant select on gateway.migration to ${login}`,
  ],
])('a login without %s gets the statement that grants the role, and works afterwards', async (_, rightsOf) => {
  const { address, platform } = await createDatabase()
  const { login, url } = await createLogin(platform, address)
  await platform.unsafe(rightsOf(login)).simple()
  const grant = `grant voucher_gateway to ${login};`
  for (const command of ['serve', 'token list', 'admin list']) {
    expect(refusalOf(await run(command.split(' '), { DATABASE_URL: url }))).toBe(
      `ROLE_NOT_GRANTED: The login ${login} is not a member of the role voucher_gateway. A database administrator has to run: ${grant}\n`,
    )
  }
  await platform.unsafe(grant)
  expect(await listTokens(url)).toEqual(noTokens)
})

test('a member with noinherit can use the service', async () => {
  const { address, platform } = await createDatabase()
  const { url } = await createLogin(platform, address, 'noinherit in role voucher_gateway')
  expect(await listTokens(url)).toEqual(noTokens)
})

test('a schema that an administrator made is used: the database need not let the login create one', async () => {
  const { address, owner } = await createEmptyDatabase()
  const { login, url } = await createLogin(owner, address, 'in role voucher_gateway, voucher_gateway_reader')
  await owner.unsafe(`create schema gateway; grant create on schema public to ${login}`).simple()
  const environment = { DATABASE_URL: url }
  const check = async () => JSON.parse((await run(['migrate', '--check', '--json'], environment)).stdout).findings
  const extensions = ['btree_gin', 'pg_trgm'].map(name => `create extension ${name} schema public;`)
  const needed = [...extensions, `alter schema gateway owner to ${login};`]
  expect(await check()).toMatchObject(
    needed.map(statement => ({ code: 'MIGRATION_FORBIDDEN', action: expect.stringContaining(statement) })),
  )
  await owner.unsafe(needed.join('')).simple()
  expect(await check()).toEqual([])
  expect(await run(['migrate'], environment)).toMatchObject({ code: 0, stderr: '' })
})

test('an owner that did not create the role gets the statement that grants it, and can migrate afterwards', async () => {
  const { address, owner } = await createEmptyDatabase()
  const { login, url } = await createLogin(owner, address, 'createrole')
  await owner.unsafe(`alter database ${address.database} owner to ${login}`)
  const environment = { DATABASE_URL: url }
  expect((await run(['serve'], environment)).stderr).toContain('node main.js migrate')
  for (const role of ['voucher_gateway', 'voucher_gateway_reader']) {
    expect(refusalOf(await run(['migrate'], environment))).toBe(
      `${login} may not set the role ${role}, which another login has created.\n` +
        `Let an administrator of the database run: grant ${role} to ${login};\n`,
    )
    await owner.unsafe(`grant ${role} to ${login}`)
  }
  expect(await run(['migrate'], environment)).toMatchObject({
    stderr: '',
    stdout: expect.stringContaining('applied 0002'),
  })
  expect(await listTokens(url)).toEqual(noTokens)
})
