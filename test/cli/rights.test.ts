import { randomBytes } from 'node:crypto'
import { afterAll, expect, inject, test } from 'vitest'
import postgres from '#postgres'
import { createDatabase } from '../support/database.ts'
import { run } from '../support/process.ts'

const { host, port, user } = inject('server')
const owner = postgres({ host, port, user, database: 'postgres', max: 1, onnotice: () => {} })
const logins: string[] = []
const databases: string[] = []

afterAll(async () => {
  for (const database of databases) await owner.unsafe(`drop database ${database} with (force)`)
  for (const login of logins) await owner.unsafe(`drop role ${login}`)
  await owner.end()
})

async function createLogin(options = ''): Promise<string> {
  const login = `login_${randomBytes(4).toString('hex')}`
  await owner.unsafe(`create role ${login} login ${options}`)
  logins.push(login)
  return login
}

const environmentOf = (login: string, database: string) => ({
  DATABASE_URL: `postgres://${login}@localhost:${port}/${database}?host=${host}`,
})

test('a login without the role is told what lets it in; with it, it works', async () => {
  const { address } = await createDatabase()
  const login = await createLogin()
  const environment = environmentOf(login, address.database)
  for (const command of [['serve'], ['token', 'list'], ['admin', 'list']]) {
    const refused = await run(command, environment)
    expect(refused.code).toBe(1)
    expect(refused.stderr).toBe(
      `The login ${login} has no access to the schema gateway. A database administrator has to run: grant voucher_gateway to ${login};\n`,
    )
  }
  await owner.unsafe(`grant voucher_gateway to ${login}`)
  const listed = await run(['token', 'list', '--json'], environment)
  expect([listed.stdout, listed.stderr]).toEqual(['[]\n', ''])
})

test('a login that sees the schema and may not take the role is told so', async () => {
  const { address, platform } = await createDatabase()
  const login = await createLogin()
  await platform.unsafe(`grant usage on schema gateway to ${login}; grant select on gateway.migration to ${login}`)
  const refused = await run(['token', 'list'], environmentOf(login, address.database))
  expect(refused.code).toBe(1)
  expect(refused.stderr).toBe(
    `The login ${login} is not a member of the role voucher_gateway. A database administrator has to run: grant voucher_gateway to ${login};\n`,
  )
  await platform.unsafe(`drop owned by ${login}`)
})

test('a member that inherits nothing works as the role all the same', async () => {
  const { address } = await createDatabase()
  const login = await createLogin('noinherit in role voucher_gateway')
  const listed = await run(['token', 'list', '--json'], environmentOf(login, address.database))
  expect([listed.stdout, listed.stderr]).toEqual(['[]\n', ''])
})

test('who migrates where another has made the role is told what to run, and may then', async () => {
  const login = await createLogin('createrole')
  const database = `own_${randomBytes(4).toString('hex')}`
  await owner.unsafe(`create database ${database} owner ${login}`)
  databases.push(database)
  const environment = environmentOf(login, database)
  expect((await run(['serve'], environment)).stderr).toContain('node main.js migrate')
  const refused = await run(['migrate'], environment)
  expect(refused.code).toBe(1)
  expect(refused.stderr).toBe(
    `${login} may not set the role voucher_gateway, which another login has created.\n` +
      `Let an administrator of the database run: grant voucher_gateway to ${login};\n`,
  )
  await owner.unsafe(`grant voucher_gateway to ${login}`)
  const migrated = await run(['migrate'], environment)
  expect(migrated.stderr).toBe('')
  expect(migrated.stdout).toContain('applied 0002')
  expect((await run(['token', 'list', '--json'], environment)).stdout).toBe('[]\n')
})
