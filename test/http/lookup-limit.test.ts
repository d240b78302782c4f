import { expect, test } from 'vitest'
import { createTokenSecret } from '../../src/domain/token/secret.ts'
import { v1 } from '../support/app.ts'
import { startService } from '../support/service.ts'

const { build, client } = await startService()

/** A call with a token from an address. @returns its status */
async function statusOf(secret: string, remoteAddress: string): Promise<number> {
  const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
  return (await client.ask({ method: 'GET', url: `${v1}/tenants`, remoteAddress, headers })).status
}

/** Sends as many unknown tokens as a network may. @returns the distinct statuses */
const flood = async (addressOf: (n: number) => string) =>
  new Set(await Promise.all(Array.from({ length: 100 }, (_, n) => statusOf(createTokenSecret(), addressOf(n)))))

test('look-ups of unknown tokens are limited for a whole /64, also when its zeros are left out', async () => {
  const { secret } = await build.token([await build.tenant()])
  expect(await statusOf(secret, '2001:db8::7:0:0:1')).toBe(200)
  expect(await flood(n => `2001:db8::${(n + 1).toString(16)}:0:0:1`)).toEqual(new Set([401]))
  expect(await statusOf(createTokenSecret(), '2001:db8:0:0:ffff::1')).toBe(429)
  // Other networks, and tokens that were found before, are not affected.
  expect(await statusOf(createTokenSecret(), '2001:db8:0:1::1')).toBe(401)
  expect(await statusOf(secret, '2001:db8::8:0:0:1')).toBe(200)
})
