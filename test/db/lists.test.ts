import { expect, test } from 'vitest'
import { products } from '../../src/domain/record/product.ts'
import { signups } from '../../src/domain/record/signup.ts'
import { vouchers } from '../../src/domain/record/voucher.ts'
import { createDatabase } from '../support/database.ts'

const { pool } = await createDatabase()

test('the database has the lists of the resources, with the order that each expects', async () => {
  const lists =
    await pool`select resource, stamp like 'coalesce%' as unstamped_first from gateway.list order by resource`
  const resources = [products, signups, vouchers].map(({ removal, unstampedFirst }) => ({
    resource: removal,
    unstamped_first: unstampedFirst,
  }))
  expect(lists).toEqual(resources.sort((a, b) => a.resource.localeCompare(b.resource)))
})
