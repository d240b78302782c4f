/** Tests `--verify`, `--status` and dry runs, for each kind of store. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Positions, tenantKey } from '../../packages/sync/src/checkpoint.ts'
import type { Change, Store, StoredRecord } from '../../packages/sync/src/store.ts'
import { readTarget } from '../../packages/sync/src/target.ts'
import { directoryPlace, everyPlace, type Place } from '../support/copies.ts'
import { createWorld } from '../support/reference-sync.ts'

const schema = 'voucher_gateway_copy'
const list = 'purchased-vouchers'

function damageOf({ to }: Place) {
  async function commit(changes: (store: Store) => Change[] | Promise<Change[]>, positions: Positions = new Map()) {
    const store = await readTarget(to, schema)!.open()
    await store.commit(await changes(store), positions)
    await store.publish()
    await store.close()
  }
  return {
    /** Deletes, changes and adds one record each in the purchased vouchers of a tenant. */
    records: (tenantId: number, lost: number, changed: number, added: number) =>
      commit(async store => {
        const records: StoredRecord[] = [{ id: added, updatedAt: null, record: { id: added } }]
        for await (const { id, text } of store.records(list, tenantId)) {
          const record = JSON.parse(text)
          if (id === changed) records.push({ id, updatedAt: record.updated_at, record: { ...record, void: true } })
        }
        return [
          { kind: 'remove', list, tenantId, ids: [lost] },
          { kind: 'put', list, tenantId, pass: 1, records },
        ]
      }),
    position: (tenantId: number) => commit(() => [], new Map([[tenantKey(tenantId), null]])),
  }
}

describe.each(everyPlace)('a copy in %s', async (_kind, placeOf) => {
  const { build, origin, chain, sold, copyIn, platform, url } = await createWorld()
  const place = placeOf(url)
  const damage = damageOf(place)
  const { run, expectInStep } = copyIn(place)
  const verify = () => run({ task: 'verify' })

  test('does not exist before the first sync, and a dry run reports what the first sync will do', async () => {
    const message = expect.stringContaining('There is no copy in ')
    expect(await run({ task: 'status' })).toMatchObject({ code: 1, error: { message } })
    const { code, events } = await run({ task: 'dry run' })
    expect(code).toBe(0)
    expect(events).toContainEqual({ event: 'would_read', tenant: chain, list, count: sold.length })
    expect(events.at(-1)).toEqual({ event: 'dry_run', tenants: 2, received: sold.length + 4, removed: 0 })
    expect(await run({ task: 'status' })).toMatchObject({ code: 1 })
    const schemas = await platform`select from pg_namespace where nspname = ${schema}`
    expect([existsSync(place.to.replace('sqlite:', '')), schemas.length]).toEqual([false, 0])
  })

  test('reports its content and its age, even while a sync uses it', async () => {
    expect((await run()).code).toBe(0)
    expect((await verify()).code).toBe(0)
    const store = await readTarget(place.to, schema)!.open()
    const { events } = await run({ task: 'status' }).finally(() => store.close())
    expect(events[0]).toMatchObject({ event: 'copy', url: origin, tenants: 2, age_seconds: expect.any(Number) })
    const held = { records: sold.length, state: 'in_step', server_time: expect.stringMatching(/^20.*Z$/) }
    expect(events).toContainEqual({ event: 'list', tenant: chain, list, ...held })
  })

  test('differs after records are lost, changed and added, which only a full pass repairs', async () => {
    const [lost = 0, changed = 0] = sold
    await expect.poll(async () => (await run()).code).toBe(0)
    await damage.records(chain, lost, changed, 999_999)
    expect((await run()).code).toBe(0)
    const { code, events, error } = await verify()
    const counts = { service: sold.length, copy: sold.length, missing: 1, extra: 1, different: 1 }
    const examples = [lost, 999_999, changed]
    expect(events).toContainEqual({ event: 'compared', tenant: chain, list, ...counts, examples })
    const message = expect.stringMatching(/1 missing, 1 too many, 1 different.*--full/)
    expect([code, error]).toMatchObject([5, { message }])
    expect(await run({ full: true })).toMatchObject({ code: 0, error: undefined })
    expect((await verify()).code).toBe(0)
    await expectInStep()
  })

  test('is read again when the position of a tenant is lost, without records that were deleted meanwhile', async () => {
    await damage.position(chain)
    await platform`delete from purchased_voucher where id = ${sold[5]!}`
    expect((await run()).code).toBe(0)
    expect((await verify()).code).toBe(0)
    await expectInStep()
  })

  test('differs when it has records of an unknown tenant, which a full pass deletes', async () => {
    const gone = await build.tenant({ parent_id: chain })
    await build.voucher(gone)
    expect((await run()).code).toBe(0)
    await platform`delete from purchased_voucher where tenant_id = ${gone}`
    await platform`delete from tenant where id = ${gone}`
    await damage.position(gone)
    expect((await run()).code).toBe(0)
    expect(await verify()).toMatchObject({ code: 5, error: { message: expect.stringContaining(`Tenant ${gone}:`) } })
    expect((await run({ full: true })).code).toBe(0)
    expect((await verify()).code).toBe(0)
    await expectInStep()
  })

  test('equals the service even when records change during the comparison', async () => {
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
})

test('a directory with an invalid checkpoint is refused with a clear message', async () => {
  const { copyIn } = await createWorld(1)
  const place = directoryPlace()
  const { run } = copyIn(place)
  expect((await run()).code).toBe(0)
  const message = expect.stringMatching(/^The checkpoint \S+ of this copy cannot be read: .*\.$/)
  for (const text of ['', 'garbage', 'null', '{}', '{"journal":1,"positions":{"tenant/x":{}}}']) {
    writeFileSync(join(place.to, '.sync/checkpoint.json'), text)
    for (const task of ['sync', 'status', 'verify', 'dry run'] as const)
      expect(await run({ task })).toMatchObject({ code: 1, error: { message } })
  }
})

test('no command changes a directory that holds other files', async () => {
  const { copyIn } = await createWorld(1)
  const place = directoryPlace()
  mkdirSync(place.to)
  writeFileSync(join(dirname(place.to), 'copy', 'mine'), '')
  for (const task of ['sync', 'status', 'verify', 'dry run'] as const) {
    expect((await copyIn(place).run({ task })).code).toBe(2)
  }
})
