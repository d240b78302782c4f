/** `adopt show` explains one key: its row on the platform, its record, and the answers of v1. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readKeyState } from '../../src/adoption/show.ts'
import { withoutTrace } from '../../src/adoption/without-trace.ts'
import { readMappings } from '../../src/db/mapping/mappings.ts'
import { createVenuesDatabase, venuesFolder as folder } from '../adopt/venues.ts'
import { createDirectory } from '../support/directory.ts'
import { projected } from '../support/projected.ts'

const venue = '00000000-0000-0000-0000-000000000001'
const { platform, adopt } = await createVenuesDatabase(`
  insert into shop.venue (id, path, name) values ('${venue}', 'shop', 'Shop');
  insert into shop."Gift Card" ("No", venue, code, "valueCents") values ('A', '${venue}', 'CODE-A', 5000), ('B', '${venue}', 'CODE-B', 5)`)

const show = (...words: string[]) => adopt('show', folder, ...words)
const read = async (...words: string[]) => JSON.parse((await show(...words, '--json')).stdout)
const changePlatform = (statement: string) => platform.unsafe(statement)

test('before the mapping is installed, the command shows the row, and changes nothing', async () => {
  expect(await read('voucher', 'A')).toMatchObject({
    rows: [{ key: 'A', reference: 'CODE-A', initial_balance: 50 }],
    ...{ isInstalled: false, record: null, answers: [] },
  })
  expect(await platform`select from pg_namespace where nspname = 'gateway'`).toEqual([])
})

test('the command shows the record, and the answers of v1', async () => {
  expect(await adopt('apply', folder)).toMatchObject({ code: 0 })
  expect(await read('voucher', 'A')).toMatchObject({
    ...{ isInstalled: true, notes: [], record: { reference: 'CODE-A', state: 'full' }, rejection: null },
    answers: [
      { request: expect.stringMatching(/^GET .*\/\d+$/), status: 200, body: { data: { reference: 'CODE-A' } } },
      { request: expect.stringMatching(/resolve$/), status: 200, body: { data: { status: 'redeemable' } } },
    ],
  })
  expect(await read('tenant', venue)).toMatchObject({ answers: [{ body: { data: [{ name: 'Shop' }] } }] })
  expect(await platform`select from gateway.token`).toEqual([])
  const { stdout } = await show('voucher', 'A')
  expect(stdout).toMatch(/^The row: \{\n[\s\S]*\n\nNo change of it waits\.\n\nThe record: \{\n[\s\S]*\n\nGET \S+: 200 /)
})

test('the command shows why steps will evaluate the key', async () => {
  const mapping = readMappings(folder).find(({ record }) => record === 'voucher')!
  const notes = async () => (await withoutTrace(platform, sql => readKeyState(sql, mapping, 'A'))).notes.sort()
  await changePlatform(`update shop."Gift Card" set "valueCents" = 100 where "No" = 'B'`)
  expect(await notes()).toEqual([])
  await changePlatform(`update shop."Gift Card" set "valueCents" = 4000 where "No" = 'A'`)
  const written = 'A row that has this key was written.'
  expect(await read('voucher', 'A')).toMatchObject({
    ...{ rows: [{ current_balance: 40 }], record: { current_balance: 50 }, notes: [written] },
    answers: [{}, { body: { data: { voucher: { current_balance: 40 } } } }],
  })
  // A voucher depends on the time zone of its venue, but not on the name of the venue.
  await changePlatform(`update shop.venue set name = 'Shop 2'`)
  expect(await notes()).toEqual([written])
  await changePlatform(`update shop.venue set zone = 'Europe/Lisbon'`)
  const shown = 'A row that the select reads for it was written.'
  expect(await notes()).toEqual([written, shown])
  await changePlatform('truncate shop.redemption')
  expect(await notes()).toEqual([written, shown, 'The table was truncated.'])
})

test('the command shows a rejected row, and the former record, which stays', async () => {
  await changePlatform(`update shop."Gift Card" set currency = 'eur' where "No" = 'B'`)
  await projected(platform)
  expect(await read('voucher', 'B')).toMatchObject({
    ...{ rows: [{ currency: 'eur' }], record: { currency: 'EUR' } },
    rejection: 'currency is not three capital letters: eur',
    answers: [
      { body: { data: { currency: 'EUR' } } },
      { status: 422, body: { errors: { voucher_reference: [expect.any(String)] } } },
    ],
  })
})

test('the command names the problem of a wrong argument or mapping', async () => {
  expect((await show('voucher', 'C')).stdout).toMatch(/^voucher\.sql has no row/)
  expect(await show('order', 'A')).toMatchObject({ code: 2, stderr: expect.stringContaining('has no order.sql.') })
  const faulty = createDirectory()
  writeFileSync(join(faulty, 'voucher.sql'), 'select "No" as key,\n  cod as reference\nfrom shop."Gift Card";\n')
  expect(await adopt('show', faulty, 'voucher', 'A')).toMatchObject({
    ...{ code: 1, stdout: '' },
    stderr: expect.stringMatching(/^voucher\.sql:2: column "cod" does not exist\n/),
  })
})
