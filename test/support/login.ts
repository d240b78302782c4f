import { randomBytes } from 'node:crypto'
import type { Sql } from '../../src/db/sql.ts'
import { afterFile } from './cleanups.ts'
import { addressUrl } from './connect.ts'
import type { TestDatabase } from './database.ts'

/**
 * Creates a login, and drops it after the tests of the file. The objects that it owns in the database stay.
 *
 * @param sql a session of a superuser in the database
 * @param options of `create role`
 */
export async function createLogin(sql: Sql, address: TestDatabase['address'], options = '') {
  const login = `login_${randomBytes(4).toString('hex')}`
  await sql.unsafe(`create role ${login} login ${options}`)
  afterFile(() =>
    sql.unsafe(`reassign owned by ${login} to ${address.user}; drop owned by ${login}; drop role ${login}`).simple(),
  )
  return { login, url: addressUrl({ ...address, user: login }) }
}
