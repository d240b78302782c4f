import { expect, test } from 'vitest'
import { createTokenDirectory } from '../../src/domain/token/directory.ts'
import { getToken, type Token } from '../../src/domain/token/token.ts'
import { createDatabase } from '../support/database.ts'

const { pool, platform, build } = await createDatabase()

async function made(directory: ReturnType<typeof createTokenDirectory>): Promise<Token> {
  const { secret } = await build.token([])
  const finding = await directory.find(secret)
  if (finding.status !== 'active') throw new Error(finding.status)
  return finding.token
}

test('instances that used the same tokens in different orders save without a deadlock', async () => {
  const [one, two] = [createTokenDirectory(pool), createTokenDirectory(pool)]
  const tokens = await Promise.all(Array.from({ length: 100 }, () => made(one)))
  // In a large table, PostgreSQL updates the tokens one by one, in the order of the statement, so different orders
  // could deadlock.
  await platform`
    insert into gateway.token (name, token_hash, hint)
    select 'idle', sha256(number::text::bytea), 'vgw_' from generate_series(1, 20000) number`
  await platform`analyze gateway.token`
  for (let round = 0; round < 20; round += 1) {
    for (const token of tokens) one.recordUse(token, '192.0.2.1')
    for (const token of tokens.toReversed()) two.recordUse(token, '192.0.2.2')
    const saves = await Promise.allSettled([one.saveUse(), two.saveUse()])
    expect(saves.filter(({ status }) => status === 'rejected')).toEqual([])
  }
})

test('a use that could not be saved is saved at the next attempt, and does not replace a later use', async () => {
  const directory = createTokenDirectory(pool)
  const [idle, busy] = [await made(directory), await made(directory)]
  directory.recordUse(idle, '192.0.2.1')
  directory.recordUse(busy, '192.0.2.2')
  await platform`revoke update on gateway.token from voucher_gateway`
  try {
    const failing = directory.saveUse()
    directory.recordUse(busy, '192.0.2.3')
    await expect(failing).rejects.toMatchObject({ code: '42501' })
  } finally {
    await platform`grant update on gateway.token to voucher_gateway`
  }
  await directory.saveUse()
  expect(await getToken(pool, idle.id)).toMatchObject({ lastUsedAddress: '192.0.2.1', lastUsedAt: expect.any(String) })
  expect(await getToken(pool, busy.id)).toMatchObject({ lastUsedAddress: '192.0.2.3' })
})

test('the latest use of two instances is stored, whichever instance saves first', async () => {
  const [early, late] = [createTokenDirectory(pool), createTokenDirectory(pool)]
  const token = await made(early)
  early.recordUse(token, '192.0.2.1')
  await new Promise(resolve => setTimeout(resolve, 5))
  late.recordUse(token, '192.0.2.2')
  await late.saveUse()
  await early.saveUse()
  expect((await getToken(pool, token.id)).lastUsedAddress).toBe('192.0.2.2')
})
