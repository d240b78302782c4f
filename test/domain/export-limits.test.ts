import { expect, test } from 'vitest'
import { createExportLimits } from '../../src/domain/record/export-limits.ts'
import { createDatabase } from '../support/database.ts'

const { pool } = await createDatabase()
const limits = createExportLimits(pool, 10)

test('a lease that was released is not taken again by a late renewal', async () => {
  const lease = await limits.start(1)
  const renewal = lease.renew()
  await Promise.all([lease.release(), renewal])
  expect(await lease.renew()).toBe(true)
  const next = await limits.start(1)
  expect([await lease.renew(), await next.renew()]).toEqual([true, true])
  await expect(limits.start(1)).rejects.toThrow('under way')
})
