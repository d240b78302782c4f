import { createHash } from 'node:crypto'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { createIssuer } from '../../src/domain/record/redemption-token.ts'
import { createPrivateScalar, toKeySet } from '../../src/domain/record/signing-key.ts'

const keySet = toKeySet([createPrivateScalar(), createPrivateScalar()])
const largestId = Number.MAX_SAFE_INTEGER
const issuedAt = Math.floor(Date.now() / 1000)
const ids = { voucherId: largestId, ownerId: largestId, tenantId: largestId, tokenId: largestId, issuedAt }
// The issuer has the longest possible host name, and a port.
const issuer = `https://${`${'h'.repeat(63)}.`.repeat(4).slice(0, 253)}:65535`
const issue = createIssuer({ issuer, audience: 'a'.repeat(50), timeToLive: 86_400 }, () => keySet)
const verifyToken = async (token: string) => {
  const { payload } = await jwtVerify(token, createLocalJWKSet({ keys: [...keySet.published] }))
  return payload
}

test('the key of the voucher is the subject of the token', async () => {
  for (const sourceKey of ['7', 'ÄÖ-1', 'k'.repeat(70)]) {
    expect((await verifyToken(issue({ sourceKey, ...ids }))).sub).toBe(sourceKey)
  }
})

const longKeys = ['k'.repeat(1_000), '\u0001'.repeat(200), '票'.repeat(333)]
test.each(
  longKeys,
)('a token has at most 1,000 characters, because the subject of a long key is its digest', async key => {
  const token = issue({ sourceKey: key, ...ids })
  expect(token.length).toBeLessThanOrEqual(1_000)
  const digest = createHash('sha256').update(key).digest('hex')
  expect((await verifyToken(token)).sub).toBe(`sha256:${digest}`)
})
