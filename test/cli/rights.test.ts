import { randomBytes } from 'node:crypto'
import { afterAll, expect, inject, test } from 'vitest'
import postgres from '#postgres'
import { createDatabase } from '../support/database.ts'
import { refusalOf, run } from '../support/process.ts'

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

test('a login without the role gets the statement that grants it, and works afterwards', async () => {
  const { address } = await createDatabase()
  const login = await createLogin()
  const environment = environmentOf(login, address.database)
  for (const command of [['serve'], ['token', 'list'], ['admin', 'list']]) {
    expect(refusalOf(await run(command, environment))).toBe(
      `ROLE_NOT_GRANTED: The login ${login} is not a member of the role voucher_gateway. A database administrator has to run: grant voucher_gateway to ${login};\n`,
    )
  }
  await owner.unsafe(`grant voucher_gateway to ${login}`)
  const listed = await run(['token', 'list', '--json'], environment)
  expect([listed.stdout, listed.stderr]).toEqual(['[]\n', ''])
})

test('a login with access to the schema but without the role gets the statement that grants it', async () => {
  const { address, platform } = await createDatabase()
  const login = await createLogin()
  await platform.unsafe(`grant usage on schema gateway to ${login}; grant select on gateway.migration to ${login}`)
  expect(refusalOf(await run(['token', 'list'], environmentOf(login, address.database)))).toBe(
    `ROLE_NOT_GRANTED: The login ${login} is not a member of the role voucher_gateway. A database administrator has to run: grant voucher_gateway to ${login};\n`,
  )
  await platform.unsafe(`drop owned by ${login}`)
})

test('a member with noinherit can use the service', async () => {
  const { address } = await createDatabase()
  const login = await createLogin('noinherit in role voucher_gateway')
  const listed = await run(['token', 'list', '--json'], environmentOf(login, address.database))
  expect([listed.stdout, listed.stderr]).toEqual(['[]\n', ''])
})

test('a schema that an administrator made is used: the database need not let the login create one', async () => {
  const login = await createLogin('in role voucher_gateway, voucher_gateway_reader')
  const database = `made_${randomBytes(4).toString('hex')}`
  await owner.unsafe(`create database ${database}`)
  databases.push(database)
  const admin = postgres({ host, port, user, database, max: 1, onnotice: () => {} })
  await admin.unsafe(`create schema gateway; grant create on schema public to ${login}`)
  const environment = environmentOf(login, database)
  const check = async () => JSON.parse((await run(['migrate', '--check', '--json'], environment)).stdout).findings
  const extensions = ['btree_gin', 'pg_trgm'].map(name => `create extension ${name} schema public;`)
  const needed = [...extensions, `alter schema gateway owner to ${login};`]
  const forbidden = needed.map(statement => ({
    code: 'MIGRATION_FORBIDDEN',
    action: expect.stringContaining(statement),
  }))
  expect(await check()).toMatchObject(forbidden)
  await admin.unsafe(needed.join(''))
  expect(await check()).toEqual([])
  expect(await run(['migrate'], environment)).toMatchObject({ code: 0, stderr: '' })
  await admin.end()
})

test('an owner that did not create the role gets the statement that grants it, and can migrate afterwards', async () => {
  const login = await createLogin('createrole')
  const database = `own_${randomBytes(4).toString('hex')}`
  await owner.unsafe(`create database ${database} owner ${login}`)
  databases.push(database)
  const environment = environmentOf(login, database)
  expect((await run(['serve'], environment)).stderr).toContain('node main.js migrate')
  for (const role of ['voucher_gateway', 'voucher_gateway_reader']) {
    expect(refusalOf(await run(['migrate'], environment))).toBe(
      `${login} may not set the role ${role}, which another login has created.\n` +
        `Let an administrator of the database run: grant ${role} to ${login};\n`,
    )
    await owner.unsafe(`grant ${role} to ${login}`)
  }
  const migrated = await run(['migrate'], environment)
  expect(migrated.stderr).toBe('')
  expect(migrated.stdout).toContain('applied 0002')
  expect((await run(['token', 'list', '--json'], environment)).stdout).toBe('[]\n')
})
