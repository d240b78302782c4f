import { setTimeout as pause } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import type postgres from '#postgres'
import { createApp } from '../support/app.ts'
import { createTestToken, whole } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { createDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import type { Transaction } from './changes.ts'
import { createNaiveAsk, createSyncClient, lostFrom, patient, resumptions } from './clients.ts'
import { lists, transports } from './lists.ts'
import { open, seedDatabase } from './seed.ts'

/** Exports are left to the stress test: a token has one at a time. */
const pageTransports = ['REST', 'GraphQL'] as const

/** Creates a small database, and clients of all lists that resume in all ways, over both transports of pages. */
export async function createSyncedClients() {
  const database = await createDatabase()
  const { address, pool } = database
  const { app } = await createApp(database, { RATE_LIMIT_PER_MINUTE: '1000000', EXPORTS_PER_HOUR: '1000000' })
  const knownIds = await seedDatabase(address, 4)
  const [tenant = 0] = knownIds.owners
  const { secret } = await createTestToken(pool, [whole(knownIds.root)])
  const clients = lists.flatMap(list =>
    pageTransports.flatMap(transport =>
      list.path || transport === 'GraphQL'
        ? resumptions.map(resumption => {
            const owner = list.ofTenant ? tenant : knownIds.root
            const client = createSyncClient(patient(transports[transport](app, secret, list, owner)), resumption)
            return { name: `${list.name}, ${transport}, ${resumption}`, list, owner, client }
          })
        : [],
    ),
  )
  const naive = createNaiveAsk(address, tenant)
  const control = createSyncClient(naive.ask, 'first page')
  const sql = open(address, { max: 2 })
  afterFile(() => Promise.all([sql.end(), naive.sql.end()]))

  /** Each client reads once from its bound to the end of its list. */
  const pass = async () => {
    await Promise.all([...clients.map(({ client }) => client.pass()), control.pass()])
  }

  let marks = 0
  /** Returns a text that was not written before. */
  const mark = () => `step ${++marks}`

  /**
   * Waits until the service has stamped what an applier changed and the clock has reached all stamps, reads once more, and
   * expects all copies to equal the tables.
   *
   * @param only the name of the one list to compare; default: all lists
   */
  const expectInSync = async (only?: string) => {
    await until(
      'the service has stamped all records',
      async () => {
        const waiting = await sql`
        select from gateway.stamp_queue union all
        select from gateway.planned_stamp where stamp >= gateway.watermark() limit 1`
        return waiting.length === 0
      },
      60_000,
    )
    await pass()
    for (const { name, list, owner, client } of clients) {
      if (only && list.name !== only) continue
      expect(lostFrom(client.copy, await list.truth(sql, owner, knownIds.root)), name).toEqual([])
    }
  }

  const [voucher = 0] = knownIds.vouchers
  const [product = 0] = knownIds.products
  const [variant = 0] = knownIds.variants
  const [category = 0] = knownIds.categories
  const [customer = 0] = knownIds.customers

  return {
    mark,

    insert: (on: postgres.ISql) =>
      on`insert into purchased_voucher (tenant_id, reference) values (${tenant}, ${mark()}) returning id`,

    change: (on: postgres.ISql, id = voucher) =>
      on`update purchased_voucher set product_title = ${mark()} where id = ${id}`,

    /** Reads pages twice, and so takes longer than the lifetime of a writing marker. */
    pages: async () => {
      await pass()
      await pause(50)
      await pass()
    },

    database,
    app,
    /** The secret of a token that is authorised for the root with all tenants below it. */
    secret,
    knownIds,
    ...{ tenant, voucher, product, variant, category, customer },
    sql,
    pass,

    expectInSync,

    /** Runs a transaction, and expects the copies to equal the tables after its commit. @param only see `expectInSync` */
    commit: async (work: (on: Transaction) => unknown, only?: string) => {
      await sql.begin(async on => void (await work(on)))
      await expectInSync(only)
    },

    /** Opens another connection, which ends with the test. */
    connect: (options: Parameters<typeof open>[1] = {}) => {
      const connection = open(address, options)
      onTestFinished(() => connection.end())
      return connection
    },

    /** Returns the number of vouchers that the control has missed so far. */
    lostByControl: async () => {
      const vouchers = lists.find(({ name }) => name === 'vouchers')
      return lostFrom(control.copy, (await vouchers?.truth(sql, tenant, knownIds.root)) ?? []).length
    },

    /** Returns the `server_time` of a page that is read now. */
    serverTime: async () => {
      const [list] = lists
      if (!list) throw new Error('There is no list.')
      return (await transports.REST(app, secret, list, tenant)(null, null)).serverTime
    },
  }
}
