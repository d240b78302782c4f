import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import type postgres from '#postgres'
import { permissionNames } from '../../src/domain/permission.ts'
import { createToken } from '../../src/domain/token-lifecycle.ts'
import { createApp } from '../support/app.ts'
import { createDatabase } from '../support/database.ts'
import { createNaiveAsk, createSyncClient, lostFrom, resumptions } from './clients.ts'
import { doors, lists } from './lists.ts'
import { open, prepareGround } from './seed.ts'

/** A small database, and clients of all lists, through all doors, that resume in all ways: to be kept in step. */
export async function createStep() {
  const database = await createDatabase()
  const { address, pool } = database
  const { app } = await createApp(database, { RATE_LIMIT_PER_MINUTE: '1000000' })
  const ground = await prepareGround(address, 4)
  const [tenant = 0] = ground.owners
  const { secret } = await createToken(
    pool,
    { name: 'test', address: null },
    {
      name: 'step',
      contact: null,
      rateLimit: null,
      permissions: [...permissionNames],
      tenants: [{ tenantId: ground.root, withDescendants: true }],
      expiresAt: null,
    },
  )
  const clients = lists.flatMap(list =>
    Object.entries(doors).flatMap(([door, knock]) =>
      list.path || door === 'GraphQL'
        ? resumptions.map(resumption => {
            const owner = list.ofTenant ? tenant : ground.root
            const client = createSyncClient(knock(app, secret, list, owner), resumption)
            return { name: `${list.name}, ${door}, ${resumption}`, list, owner, client }
          })
        : [],
    ),
  )
  const naive = createNaiveAsk(address, tenant)
  const control = createSyncClient(naive.ask, 'first page')
  const sql = open(address, { max: 2 })

  /** All clients pass: as they do before a test, and while its transaction is open. */
  const pass = async () => {
    await Promise.all([...clients.map(({ client }) => client.pass()), control.pass()])
  }

  let marks = 0
  /** A text that was not written before. */
  const mark = () => `step ${++marks}`

  return {
    mark,

    insert: (on: postgres.ISql) =>
      on`insert into purchased_voucher (tenant_id, reference) values (${tenant}, ${mark()}) returning id`,

    change: (on: postgres.ISql, id = ground.vouchers[0] ?? 0) =>
      on`update purchased_voucher set product_title = ${mark()} where id = ${id}`,

    /** Longer than a transaction may keep its first stamps: pages are read, time passes, and pages are read again. */
    pages: async () => {
      await pass()
      await pause(50)
      await pass()
    },

    database,
    app,
    /** Of a token that is granted the root with all below it. */
    secret,
    ground,
    tenant,
    sql,
    pass,

    /**
     * Waits until the service has moved the products that an applier changed, resumes once more, and then all copies (or
     * those of one list) are as the tables.
     */
    inStep: async (only?: string) => {
      for (let pending = true; pending; ) {
        const [row] = await sql<{ pending: boolean }[]>`select exists (select from gateway.stamp_queue) as pending`
        pending = row?.pending ?? false
        if (pending) await pause(20)
      }
      await pass()
      for (const { name, list, owner, client } of clients) {
        if (only && list.name !== only) continue
        expect(lostFrom(client.copy, await list.truth(sql, owner, ground.root)), name).toEqual([])
      }
    },

    /** How many vouchers the control has lost so far. */
    lostByControl: async () => {
      const vouchers = lists.find(({ name }) => name === 'vouchers')
      return lostFrom(control.copy, (await vouchers?.truth(sql, tenant, ground.root)) ?? []).length
    },

    /** The `server_time` of a page now. */
    serverTime: async () => {
      const [list] = lists
      if (!list) throw new Error('no list')
      return (await doors.REST(app, secret, list, tenant)(null, null)).serverTime
    },

    end: () => Promise.all([sql.end(), naive.sql.end()]),
  }
}
