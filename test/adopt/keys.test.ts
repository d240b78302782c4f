/**
 * A record's id depends on the text of its key. When the keys of a mapping get another type, the ids stay, and no
 * record is lost.
 */
import { expect, test } from 'vitest'
import type { Mapping } from '../../src/db/mapping/mappings.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { findLostReferences } from '../../src/projection/references.ts'
import { createApp, createClient } from '../support/app.ts'
import { createTestToken } from '../support/builders.ts'
import { checkToken } from '../support/check-token.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'

const { owner: platform, pool } = await createEmptyDatabase()

await platform
  .unsafe(`
    create schema keys;
    create table keys.shop (id bigint primary key, name text);
    create table keys.product (id bigint primary key, shop bigint, part_of bigint);
    create table keys.card (id bigint primary key, label text, product bigint, variant bigint, code text);
    insert into keys.shop values (7, 'Shop');
    insert into keys.product values (10, 7, null), (11, 7, 10);
    insert into keys.card values (1, null, 10, 11, 'ONE'), (2, null, 10, 11, 'TWO'), (3, 'gift', 10, null, 'THREE')`)
  .simple()

/** SQL for the key of a voucher, by the type of the key. Some keys of the type `text` are no integers. */
const keyExpressions = {
  bigint: 'id',
  numeric: 'id::numeric',
  text: 'coalesce(label, id::text)',
  uuid: `lpad(id::text, 32, '0')::uuid`,
}
type KeyType = keyof typeof keyExpressions

/** The key of the third voucher by key type, as a redemption token contains the key. */
const thirdKeys = { bigint: '3', numeric: '3', text: 'gift', uuid: '00000000-0000-0000-0000-000000000003' }

/** Returns mappings whose keys have `type`. The references of vouchers to these keys are always texts. */
function createMappings(type: KeyType): Mapping[] {
  const other = type === 'text' ? 'text' : 'bigint'
  const title = `'p' || id as slug, 'Tea' as title, 'EUR' as currency from keys.product where part_of is`
  const selects: [record: string, source: string, key: string, rest: string][] = [
    ['tenant', 'shop', `id::${other}`, 'name from keys.shop'],
    ['product', 'product', `id::${other}`, `shop as tenant_id, ${title} null`],
    ['variant', 'product', `id::${other}`, `part_of::text as product_id, ${title} not null`],
    [
      'voucher',
      'card',
      keyExpressions[type],
      `7 as tenant_id, code as reference, coalesce(variant, product)::text as product_id,
       (case when variant is not null then product end)::text as parent_product_id, timestamptz '2026-01-01' as created_at from keys.card`,
    ],
  ]
  return selects.map(([record, source, key, rest]) => {
    const rules = { [source]: `select ${key} from changed` }
    return { record, select: `select ${key} as key, ${rest}`, rules, path: 'public' }
  })
}

/** The lowest id for keys that are no integers. A step that is rolled back leaves a gap in these ids. */
const firstTextKeyId = 9_000_000_000_000_000
/** For each text of a key: the ids that vouchers had. */
const idsByKey: Record<string, number[]> = {}
const readIds = async () => {
  return (await pool`select id || ' ' || reference as shown from gateway.voucher order by id`).map(({ shown }) => shown)
}

await migrate(platform, { adopted: createMappings('bigint') })
await projected(pool)
const client = await createApp({ pool })
const { secret } = await createTestToken(pool, [7])
let lastServerTime = new Date().toISOString()
let formerIds = [1, 2, 3]

test.each<[KeyType, numbers: number[]]>([
  ['bigint', [1, 2, 3]],
  ['text', [1, 2]],
  ['bigint', [1, 2, 3]],
  ['uuid', []],
  ['text', [1, 2]],
  ['uuid', []],
  ['numeric', [1, 2, 3]],
  ['bigint', [1, 2, 3]],
])('keys of the type %s have the same ids each time, of which %j are their numbers', async (type, numbers) => {
  await migrate(platform, { adopted: createMappings(type) })
  await projected(pool)
  expect([await findRecordProblems(pool), await findLostReferences(pool)]).toEqual([[], []])
  const list = await client.rest(secret, '/tenants/7/sales/purchased-vouchers')
  const ids = (list.body.data as { id: number }[]).map(({ id }) => id).sort((one, other) => one - other)
  idsByKey[thirdKeys[type]] ??= ids
  expect([ids, ids.filter(id => id < firstTextKeyId)]).toEqual([idsByKey[thirdKeys[type]], numbers])
  const removals = await pool<{ id: number }[]>`
    select id from gateway.removal where record = 'voucher' and updated_at > ${lastServerTime}::text::timestamptz order by id`
  expect(removals.map(({ id }) => id)).toEqual(formerIds.filter(id => !ids.includes(id)))
  lastServerTime = list.body.server_time
  formerIds = ids
  // A resolution uses the key to read the row of the platform.
  const answer = await createClient(client.app).resolve(secret, 7, { voucher_reference: 'three' })
  expect(answer.body.data).toMatchObject({ voucher: { id: ids[2] } })
  const { payload } = await checkToken(client, answer.body.data.redemption_token)
  expect([payload.sub, payload.voucher_id]).toEqual([thirdKeys[type], ids[2]])
})

test('when a column gets another type, the same mapping is installed again and the ids stay the same', async () => {
  await platform`alter table keys.card alter id type text`
  await platform`update keys.card set code = 'UN' where id = '1'`
  await projected(pool)
  expect(await findRecordProblems(pool)).toMatchObject([{ reason: expect.stringMatching(/operator/) }])
  await migrate(platform, { adopted: createMappings('bigint') })
  await projected(pool)
  expect(await findRecordProblems(pool)).toEqual([])
  expect(await readIds()).toEqual(['1 UN', '2 TWO', '3 THREE'])
})

test('a deleted key of any type has a removal, and no other key gets its id', async () => {
  await platform`delete from keys.card where id = '2'`
  await migrate(platform, { adopted: createMappings('text') })
  await projected(pool)
  await platform`insert into keys.card values ('4', 'new', 10, null, 'FOUR')`
  await projected(pool)
  const shown = await readIds()
  expect(shown).toEqual(['1 UN', `${idsByKey.gift?.[2]} THREE`, expect.stringMatching(/ FOUR$/)])
  expect(Object.values(idsByKey).flat()).not.toContain(Number.parseInt(shown[2], 10))
})

test('references to records that do not exist are counted', async () => {
  await platform`update keys.card set variant = 12 where id = '1'`
  await projected(pool)
  expect(await findLostReferences(pool)).toEqual([
    { record: 'voucher', column: 'product_id', kind: 'variant', lost: 1, references: 1, firstId: 1 },
  ])
})
