import { expect, onTestFinished } from 'vitest'
import type postgres from '#postgres'
import { createApp } from '../support/app.ts'
import { createTestToken, whole } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { createDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'
import { createSyncClient, lostFrom, patient, readWhole, resumptions } from './clients.ts'
import { lists, transports } from './lists.ts'
import { open, seedDatabase } from './seed.ts'
import type { Transaction } from './writers.ts'

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
  const followed = lists.flatMap(list =>
    pageTransports.flatMap(transport => {
      if (!list.path && transport !== 'GraphQL') return []
      const ask = patient(transports[transport](app, secret, list, tenant))
      const clients = resumptions.map(resumption => createSyncClient(ask, resumption))
      return [{ name: `${list.name}, ${transport}`, ask, clients }]
    }),
  )
  const sql = open(address, { max: 2 })
  afterFile(() => sql.end())

  /** Makes the pending steps; then each client reads once from its bound to the end of its list. */
  const pass = async () => {
    await projected(pool)
    await Promise.all(followed.flatMap(({ clients }) => clients.map(client => client.pass())))
  }

  let marks = 0
  /** Returns a text that was not written before. */
  const mark = () => `mark ${++marks}`

  /** Expects records to be as their sources after a pass, and copies to have all that the lists have. */
  const expectInSync = async () => {
    await pass()
    expect(await findRecordProblems(pool)).toEqual([])
    for (const { name, ask, clients } of followed) {
      const whole = await readWhole(ask)
      expect(
        clients.map(({ copy }) => lostFrom(copy, whole)),
        name,
      ).toEqual(resumptions.map(() => []))
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

    database,
    app,
    /** The secret of a token that is authorised for the root with all tenants below it. */
    secret,
    knownIds,
    ...{ tenant, voucher, product, variant, category, customer },
    sql,
    pass,

    expectInSync,

    /** Runs a transaction, and expects the copies to have its changes after its commit. */
    commit: async (work: (on: Transaction) => unknown) => {
      await sql.begin(async on => void (await work(on)))
      await expectInSync()
    },

    connect: (options: Parameters<typeof open>[1] = {}) => {
      const connection = open(address, options)
      onTestFinished(() => connection.end())
      return connection
    },
  }
}
