import { expect, test } from 'vitest'
import type { Answer } from '../support/app.ts'
import { startService } from '../support/service.ts'

const { build, client } = await startService({ MAX_REQUESTS: '10' })
const { rest } = client
const tenantId = await build.tenant()

test('requests beyond the rate are held before they are refused, and take no place from others', async () => {
  const { secret } = await build.token([tenantId], { rateLimit: 1 })
  const other = await build.token([tenantId])
  await rest(secret, '/tenants')
  const refused: Promise<Answer>[] = []
  let held = 0
  let mostHeld = 0
  for (let round = 0; round < 20; round++) {
    held++
    refused.push(rest(secret, '/tenants').finally(() => held--))
    expect((await rest(other.secret, '/tenants')).status).toBe(200)
    mostHeld = Math.max(mostHeld, held)
  }
  expect(mostHeld).toBeGreaterThan(1)
  expect((await Promise.all(refused)).map(({ status }) => status)).toEqual(refused.map(() => 429))
})
