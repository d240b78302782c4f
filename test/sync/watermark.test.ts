import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { createSyncedClients } from './in-sync.ts'
import { open } from './seed.ts'

const { database, tenant, sql, pass, expectInSync, serverTime, end, mark, insert, change, pages } =
  await createSyncedClients()
const { address } = database
afterAll(end)
beforeEach(pass)

describe('a prepared transaction', () => {
  test('holds the watermark, and is listed after its commit', async () => {
    const seen = await serverTime()
    await sql.begin(async transaction => {
      await insert(transaction)
      await pages()
      await transaction.prepare('edge')
    })
    const held = await serverTime()
    await pages()
    expect(await serverTime()).toBe(held)
    await sql`commit prepared 'edge'`
    expect((await serverTime()) > held).toBe(true)
    expect(held > seen).toBe(true)
    await expectInSync()
  })

  test('releases the watermark when it is rolled back', async () => {
    await sql.begin(async transaction => {
      await insert(transaction)
      await transaction.prepare('edge')
    })
    const held = await serverTime()
    await pages()
    expect(await serverTime()).toBe(held)
    await sql`rollback prepared 'edge'`
    expect((await serverTime()) > held).toBe(true)
    await expectInSync()
  })
})

test('a writer that is terminated leaves nothing that holds the watermark', async () => {
  const writer = open(address)
  const ended = writer.begin(async transaction => {
    await change(transaction)
    await transaction`set constraints all immediate`
    const [own] = await transaction<{ pid: number }[]>`select pg_backend_pid() as pid`
    await sql`select pg_terminate_backend(${own?.pid ?? 0}, 5000)`
    await new Promise<never>(() => {})
  })
  await expect(ended).rejects.toThrow()
  const [clock] = await sql<{ now: string }[]>`select to_json(clock_timestamp() at time zone 'UTC') #>> '{}' as now`
  expect((await serverTime()) > (clock?.now ?? '')).toBe(true)
  await expectInSync()
})

describe('no lock waits', () => {
  test('of a page for a writer that has locked rows', async () => {
    await sql.begin(async transaction => {
      await transaction`update purchased_voucher set product_title = ${mark()}`
      await transaction`update tenant set name = name || '.'`
      await pass()
    })
    await expectInSync()
  })

  test('of a writer for a reader whose transaction is open', async () => {
    const reader = open(address)
    const writer = open(address, { connection: { lock_timeout: 1000 } })
    await reader.begin(async transaction => {
      await transaction`select gateway.watermark()`
      await transaction`select from purchased_voucher where tenant_id = ${tenant} order by updated_at, id limit 100`
      await writer`update purchased_voucher set product_title = ${mark()}`
      await writer`insert into purchased_voucher (tenant_id, reference) values (${tenant}, ${mark()})`
    })
    await Promise.all([reader.end(), writer.end()])
    await expectInSync()
  })
})
