import { beforeEach, expect, test } from 'vitest'
import { createLoginThrottle } from '../../src/admin/auth/login-throttle.ts'
import { createDatabase } from '../support/database.ts'

const { pool, platform } = await createDatabase()

beforeEach(() => platform`truncate gateway.audit_entry, gateway.rate_window`)

let usedNames = 0
/** @returns true when the throttle accepted an attempt with a wrong password for a new account */
async function isAccepted(attempts: ReturnType<typeof createLoginThrottle>, address: string): Promise<boolean> {
  const attempt = attempts.signIn({ name: `guess${++usedNames}@example.com`, address }, async () => null)
  return (await Promise.allSettled([attempt]))[0].status === 'fulfilled'
}

test.each([
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', '2001:db8:1:3::1'],
  ['2001:db8:0:0:1::1', '2001:0DB8::2', '2001:db8:0:1::1'],
  ['::1', '::ffff', '0:0:0:1::1'],
  ['fe80::1%eth0', 'fe80::2', 'fe80:0:0:1::1'],
  ['1:2:3:4:5:6:7:8', '1:2:3:4::', '1:2:3:5:5:6:7:8'],
  ['127.9.9.9', '127.9.9.9', '127.9.9.8'],
])('an address (IPv6: its /64) may send 20 wrong attempts: %s counts as %s, and not as %s', async (one, neighbour, other) => {
  const attempts = createLoginThrottle(pool)
  for (let attempt = 0; attempt < 20; attempt++) expect(await isAccepted(attempts, one)).toBe(true)
  expect(await isAccepted(attempts, neighbour)).toBe(false)
  expect(await isAccepted(attempts, other)).toBe(true)
})

test('the limit counts the attempts at all instances together', async () => {
  const instances = [createLoginThrottle(pool), createLoginThrottle(pool)]
  const attempts = Array.from({ length: 30 }, (_, n) => {
    const actor = { name: 'bob@example.com', address: `198.51.100.${n}` }
    return instances[n % 2]!.signIn(actor, async () => null)
  })
  const settled = await Promise.allSettled(attempts)
  expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
})

test('the audit gets one entry per failed attempt up to 100 per window, and then one entry for all further attempts', async () => {
  const attempts = createLoginThrottle(pool)
  for (let attempt = 0; attempt < 110; attempt++) await isAccepted(attempts, `192.0.2.${attempt}`)
  await attempts.recordFailure({ name: 'x@example.com', address: null }, 'openid: stranger')
  const entries = await pool<{ actor: string; reason: string }[]>`
    select actor, detail ->> 'reason' as reason from gateway.audit_entry order by id`
  expect(entries.slice(0, 100).every(({ reason }) => reason === 'wrong password')).toBe(true)
  expect(entries.slice(100)).toEqual([
    { actor: 'service', reason: 'too many to record: more are left out for up to 15 minutes' },
  ])
})

test('an attempt does not count when its password was not checked', async () => {
  const attempts = createLoginThrottle(pool)
  const actor = { name: 'ann@example.com', address: '192.0.2.9' }
  const busy = async () => {
    throw new Error('busy')
  }
  for (let attempt = 0; attempt < 30; attempt++) {
    await expect(attempts.signIn(actor, busy)).rejects.toThrow('busy')
    await expect(attempts.confirm(1, actor, busy)).rejects.toThrow('busy')
  }
  expect(await attempts.signIn(actor, async () => 'in')).toBe('in')
  expect(await attempts.confirm(1, actor, async () => 'in')).toBe('in')
})
