/** On the packaged server, which has the programs of dumps. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createBuilders } from '../support/builders.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { packagedPrograms } from '../support/packaged-postgres.ts'

test('a dump of the schema of the platform is restored without the gateway', async () => {
  const database = await createDatabase()
  await createBuilders(database).tenant()
  const { address } = await createEmptyDatabase('template template0')
  const call = (program: string, args: string[], input?: string) =>
    execFileSync(
      join(packagedPrograms(), program),
      ['-h', address.host, '-p', `${address.port}`, '-U', address.user, ...args],
      { encoding: 'utf8', input, stdio: 'pipe' },
    )
  const dump = call('pg_dump', ['-n', 'public', database.address.database])
  const restored = dump.replaceAll(/^CREATE TRIGGER capture_\w+ .*$|^ALTER TABLE .* TRIGGER capture_\w+;$/gm, '')
  expect(restored).not.toContain('gateway.')
  const restore = (input: string) => call('psql', ['-v', 'ON_ERROR_STOP=1', address.database], input)
  restore(`drop schema public; ${restored}`)
  restore(
    "insert into public.purchased_voucher (tenant_id, reference) values (1, 'A'); delete from public.purchased_voucher;",
  )
})
