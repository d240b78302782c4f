/** Verifies a copy, shows its state and makes a dry run, for each kind of store. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { openSqlite } from '../../packages/sync/src/stores/node-sqlite.ts'
import { readTarget } from '../../packages/sync/src/target.ts'
import { directoryPlace, everyPlace, type Place, readService } from '../support/copies.ts'
import type { TestDatabase } from '../support/database.ts'
import { createWorld, sync } from '../support/reference-sync.ts'

/** The ways to damage a copy. */
interface Damage {
  /** Deletes a record, changes another one, and adds a third one, of the purchased vouchers of a tenant. */
  records: (tenantId: number, lost: number, changed: number, added: number) => Promise<unknown>
  /** Deletes all purchased vouchers of a tenant. */
  list: (tenantId: number) => Promise<unknown>
  /** Deletes the position of a tenant. */
  position: (tenantId: number) => Promise<unknown>
  /** Replaces a checkpoint by a text, which need not be JSON. */
  checkpoint: (text: string) => Promise<unknown>
}

function damageDirectory({ to }: Place): Damage {
  const file = (tenantId: number) => join(to, 'purchased-vouchers', `${tenantId}.ndjson`)
  const checkpoint = join(to, '.sync/checkpoint.json')
  return {
    async records(tenantId, lost, changed, added) {
      const lines = readFileSync(file(tenantId), 'utf8').split('\n').filter(Boolean)
      const kept = lines.filter(line => JSON.parse(line).id !== lost)
      const edited = kept.map(line =>
        JSON.parse(line).id === changed ? line.replace('"void":false', '"void":true') : line,
      )
      writeFileSync(file(tenantId), [...edited, `{"id":${added}}`, ''].join('\n'))
    },
    list: async tenantId => rmSync(file(tenantId)),
    async position(tenantId) {
      const stored = JSON.parse(readFileSync(checkpoint, 'utf8'))
      delete stored.positions[`tenant/${tenantId}`]
      writeFileSync(checkpoint, JSON.stringify(stored))
    },
    checkpoint: async text => writeFileSync(checkpoint, text),
  }
}

function damagePostgres({ loader }: TestDatabase): Damage {
  return {
    async records(tenantId, lost, changed, added) {
      await loader`delete from voucher_gateway_copy.purchased_vouchers where id = ${lost}`
      await loader`
        update voucher_gateway_copy.purchased_vouchers set record = record || '{"void": true}' where id = ${changed}`
      await loader`
        insert into voucher_gateway_copy.purchased_vouchers values (${tenantId}, ${added}, null, '{}', 1)`
    },
    list: tenantId => loader`delete from voucher_gateway_copy.purchased_vouchers where tenant_id = ${tenantId}`,
    position: tenantId => loader`delete from voucher_gateway_copy.sync_position where key = ${`tenant/${tenantId}`}`,
    checkpoint: text =>
      loader`update voucher_gateway_copy.sync_position set value = to_jsonb(${text}::text) where key = 'copy'`,
  }
}

function damageSqlite({ to }: Place): Damage {
  const execute = async (sql: string, ...parameters: (string | number)[]) => {
    const database = await openSqlite(to.slice('sqlite:'.length))
    database.prepare(sql).run(...parameters)
    database.close()
  }
  return {
    async records(tenantId, lost, changed, added) {
      await execute('delete from purchased_vouchers where id = ?', lost)
      await execute(
        `update purchased_vouchers set record = replace(record, '"void":false', '"void":true') where id = ?`,
        changed,
      )
      await execute(`insert into purchased_vouchers values (?, ?, null, '{}', 1)`, tenantId, added)
    },
    list: tenantId => execute('delete from purchased_vouchers where tenant_id = ?', tenantId),
    position: tenantId => execute('delete from sync_position where key = ?', `tenant/${tenantId}`),
    checkpoint: text => execute(`update sync_position set value = ? where key = 'copy'`, text),
  }
}

const damages: Record<string, (place: Place, database: TestDatabase) => Damage> = {
  'a directory': damageDirectory,
  PostgreSQL: (_place, database) => damagePostgres(database),
  SQLite: damageSqlite,
}

describe.each(everyPlace)('a copy in %s', async (kind, placeOf) => {
  const { database, build, origin, chain, venue, sold, token } = await createWorld()
  const { platform } = database
  const place = placeOf(database.url)
  const damage = damages[kind]!(place, database)
  const run = (options = {}) => sync(origin, token.secret, place, options)
  const verify = () => run({ task: 'verify' })

  test('does not exist before the first sync, and a dry run reports what that sync will do', async () => {
    expect(await run({ task: 'status' })).toMatchObject({
      code: 1,
      error: { message: expect.stringContaining('There is no copy in ') },
    })
    const { code, events } = await run({ task: 'dry run' })
    expect(code).toBe(0)
    expect(events).toContainEqual({
      event: 'would_read',
      tenant: chain,
      list: 'purchased-vouchers',
      count: sold.length,
    })
    expect(events.at(-1)).toEqual({ event: 'dry_run', tenants: 2, received: sold.length + 4, removed: 0 })
    expect(await run({ task: 'status' })).toMatchObject({ code: 1 })
    const schemas = await database.loader`select from pg_namespace where nspname = 'voucher_gateway_copy'`
    expect([existsSync(place.to.replace('sqlite:', '')), schemas.length]).toEqual([false, 0])
  })

  test('agrees with the service when it is in step', async () => {
    expect((await run()).code).toBe(0)
    const { code, events } = await verify()
    expect(code).toBe(0)
    const agrees = { missing: 0, extra: 0, different: 0, examples: [] }
    const count = { service: sold.length, copy: sold.length, ...agrees }
    expect(events).toContainEqual({ event: 'compared', tenant: chain, list: 'purchased-vouchers', ...count })
    expect(events.at(-1)).toMatchObject({ event: 'verified', records: sold.length + 4 })
  })

  test('reports its content and its age, also while a sync uses it', async () => {
    const store = await readTarget(place.to, 'voucher_gateway_copy')!.open()
    const status = await run({ task: 'status' }).finally(() => store.close())
    const [copy, ...lists] = status.events
    const instant = expect.stringMatching(/^20.*Z$/)
    expect(copy).toMatchObject({
      event: 'copy',
      url: origin,
      tenants: 2,
      server_time: instant,
      age_seconds: expect.any(Number),
    })
    expect(lists).toHaveLength(6)
    const held = { records: sold.length, state: 'in_step', server_time: instant }
    expect(lists).toContainEqual({ event: 'list', tenant: chain, list: 'purchased-vouchers', ...held })
  })

  test('differs after records were lost, changed and added, which a round does not see; a full pass repairs it', async () => {
    const [lost = 0, changed = 0] = sold
    await expect.poll(async () => (await run()).code).toBe(0)
    await damage.records(chain, lost, changed, 999_999)
    expect((await run()).code).toBe(0)
    const { code, events, error } = await verify()
    const counts = { service: sold.length, copy: sold.length, missing: 1, extra: 1, different: 1 }
    const examples = [lost, 999_999, changed]
    expect(events).toContainEqual({ event: 'compared', tenant: chain, list: 'purchased-vouchers', ...counts, examples })
    expect([code, error]).toMatchObject([
      5,
      { message: expect.stringMatching(/1 missing, 1 too many, 1 different.*--full/) },
    ])
    await damage.list(venue)
    expect((await verify()).events).toContainEqual(
      expect.objectContaining({ event: 'compared', tenant: venue, list: 'purchased-vouchers', copy: 0, missing: 1 }),
    )
    expect(await run({ full: true })).toMatchObject({ code: 0, error: undefined })
    expect((await verify()).code).toBe(0)
    expect(await place.read()).toEqual(await readService(origin, token.secret))
  })

  test('that lost the position of a tenant is read again, without records that were deleted in between', async () => {
    await damage.position(chain)
    await platform`delete from purchased_voucher where id = ${sold[5]!}`
    expect((await run()).code).toBe(0)
    expect((await verify()).code).toBe(0)
    expect(await place.read()).toEqual(await readService(origin, token.secret))
  })

  test('with records of a tenant that the service does not have differs, and a full pass drops them', async () => {
    const gone = await build.tenant({ parent_id: chain })
    await build.voucher(gone)
    expect((await run()).code).toBe(0)
    await platform`delete from tenant where id = ${gone}`.catch(async () => {
      await platform`delete from purchased_voucher where tenant_id = ${gone}`
      await platform`delete from tenant where id = ${gone}`
    })
    await damage.position(gone)
    expect((await run()).code).toBe(0)
    expect(await verify()).toMatchObject({ code: 5, error: { message: expect.stringContaining(`Tenant ${gone}:`) } })
    expect((await run({ full: true })).code).toBe(0)
    expect((await verify()).code).toBe(0)
    expect(Object.keys(await place.read()).filter(key => key.split(' ')[1] === String(gone))).toEqual([])
  })

  test('agrees also when the service changes during the comparison', async () => {
    let isDone = false
    const writing = (async () => {
      for (let count = 0; !isDone; count++) {
        await platform`update purchased_voucher set product_title = ${`Title ${count}`} where id = ${sold[10 + (count % 50)]!}`
        await platform`insert into purchased_voucher (tenant_id, reference) values (${chain}, ${`WHILE-${count}`})`
        await platform`
          delete from purchased_voucher
          where id = (select id from purchased_voucher where reference like 'WHILE-%' order by random() limit 1)`
      }
    })()
    try {
      for (let round = 0; round < 5; round++) expect(await verify()).toMatchObject({ code: 0, error: undefined })
    } finally {
      isDone = true
      await writing
    }
  })

  test('is not changed by a dry run, which reports what the next sync will do', async () => {
    expect((await run()).code).toBe(0)
    await platform`update purchased_voucher set product_title = 'Dry' where id in ${platform([sold[20]!, sold[21]!])}`
    await platform`delete from purchased_voucher where id = ${sold[22]!}`
    const before = await place.read()
    const dry = await run({ task: 'dry run' })
    expect(dry.events.at(-1)).toMatchObject({ event: 'dry_run', received: 2, removed: 1 })
    expect(await place.read()).toEqual(before)
    expect((await run()).events.at(-1)).toMatchObject({ event: 'in_step', received: 2, removed: 1 })
  })

  test('with an invalid checkpoint gets a clear message', async () => {
    for (const text of ['', 'garbage', 'null', '[]', '{}', '{"journal":1,"positions":{"tenant/x":{}}}']) {
      await damage.checkpoint(text)
      for (const task of ['sync', 'status', 'verify', 'dry run'] as const) {
        const { code, error } = await run({ task })
        const sentence = expect.stringMatching(/^The checkpoint \S+ of this copy cannot be read: .*\.$/)
        expect([text, task, code, error]).toMatchObject([text, task, 1, { message: sentence }])
      }
    }
  })
})

test('no command changes a directory that holds other files', async () => {
  const { origin, token } = await createWorld(1)
  const place = directoryPlace()
  mkdirSync(place.to)
  writeFileSync(join(dirname(place.to), 'copy', 'mine'), '')
  for (const task of ['sync', 'status', 'verify', 'dry run'] as const) {
    expect((await sync(origin, token.secret, place, { task })).code).toBe(2)
  }
})
