import { describe, expect, test } from 'vitest'
import { whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { walk } from './support.ts'

const { build, client, platform } = await startService()

/**
 * Fills a list. @param stamp the SQL of the stamp of record number `n`, by default the stamp of the step. Stamps ascend
 * while ids descend
 */
type Fill = (count: number, stamp?: string) => Promise<{ path: string; secret: string }>

/** Changes the stamps of the records of a tenant, or of its children. @param last the highest id plus one */
async function stampAll(record: string, tenantId: number, last: number, stamp = 'updated_at'): Promise<void> {
  await projected(platform)
  await platform.unsafe(`update gateway.${record} set updated_at = ${stamp} from generate_series(1, 1000) n
    where id = ${last} - n and ${record === 'tenant' ? 'parent_id' : 'tenant_id'} = ${tenantId}`)
}

/** Returns a function that fills a list of a new tenant. @param columns the SQL values of the required columns */
const createFill =
  (path: string, table: string, columns: Record<string, string>): Fill =>
  async (count, stamp) => {
    const tenantId = await build.tenant()
    const last = tenantId * 100000 + count
    await platform.unsafe(`insert into ${table} (id, tenant_id, ${Object.keys(columns)})
      select ${last} - n, ${tenantId}, ${Object.values(columns)} from generate_series(1, ${count}) n`)
    await stampAll(table.replace('purchased_', ''), tenantId, last, stamp)
    return { path: `/tenants/${tenantId}/${path}`, secret: (await build.token([tenantId])).secret }
  }

const fillers: Record<string, Fill> = {
  tenants: async (count, stamp) => {
    const root = await build.tenant({ updated_at: '2000-01-01 00:00:00+00' })
    const last = root * 100000 + count
    await platform.unsafe(`insert into tenant (id, name, parent_id)
      select ${last} - n, 'T' || n, ${root} from generate_series(1, ${count} - 1) n`)
    await stampAll('tenant', root, last, stamp)
    const { secret } = await build.token([whole(root)])
    return { path: '/tenants', secret }
  },
  'catalog vouchers': createFill('catalog/vouchers', 'product', { slug: "'s'", title: "'t'", currency: "'GBP'" }),
  'purchased vouchers': createFill('sales/purchased-vouchers', 'purchased_voucher', { reference: 'gen_random_uuid()' }),
  'marketing signups': createFill('customers/marketing-signups', 'customer', { marketing_opted: 'true' }),
}

const stamps = {
  'a microsecond apart': `timestamptz '2026-05-05 05:05:05.999900+00' + n * interval '1 microsecond'`,
  'pairs of equal stamps': `timestamptz '2026-05-05 05:05:05+00' + (n / 2) * interval '1 microsecond'`,
}

type Listed = { id?: number; tenant_id?: number; updated_at: string }
const keyOf = ({ id, tenant_id, updated_at }: Listed) => `${updated_at} ${String(id ?? tenant_id).padStart(16, '0')}`

describe.each(Object.keys(fillers))('the list of %s', name => {
  const fill = fillers[name]!

  test.each([1, 50, 51, 150])('with %i records has pages of 50, which contain each record once', async count => {
    for (const [kind, stamp] of Object.entries(stamps)) {
      const { path, secret } = await fill(count, stamp)
      const { pages, records } = await walk(client, secret, path)
      const sizes = pages.map(page => page.length)
      const wanted = Array.from({ length: Math.ceil(count / 50) }, (_, page) => Math.min(50, count - 50 * page))
      expect(sizes, kind).toEqual(wanted)
      const keys = records.map(keyOf)
      expect(new Set(keys).size, kind).toBe(count)
      expect(keys, kind).toEqual([...keys].sort())
    }
  })

  test('includes records whose updated_at equals updated_since, to the microsecond', async () => {
    const { path, secret } = await fill(101, stamps['a microsecond apart'])
    const all = (await walk(client, secret, path)).records
    for (const index of [1, 49, 50, 100]) {
      const { records } = await walk(client, secret, path, { updated_since: all[index].updated_at })
      expect(records).toEqual(all.slice(index))
    }
  })

  test('can be read on with only the last updated_at, even past records of one statement', async () => {
    const { path, secret } = await fill(120)
    const all = (await walk(client, secret, path)).records
    const seen: Listed[] = []
    for (let page = 0; page < 4; page++) {
      const { body } = await client.rest(secret, `${path}?updated_since=${seen.at(-1)?.updated_at ?? ''}`)
      seen.splice(-1, 1, ...body.data)
    }
    expect(seen).toEqual(all)
  })

  test('continues with a cursor alone, and a later updated_since skips more records', async () => {
    const { path, secret } = await fill(130, stamps['a microsecond apart'])
    const all = (await walk(client, secret, path)).records
    const ask = async (query: Record<string, string>) => {
      const { status, body } = await client.rest(secret, `${path}?${new URLSearchParams(query)}`)
      expect(status).toBe(200)
      return body
    }
    const first = await ask({ updated_since: all[10].updated_at })
    expect(first.data).toEqual(all.slice(10, 60))

    const cursor = first.next_cursor
    expect((await ask({ cursor })).data).toEqual(all.slice(60, 110))
    for (const before of [1, 10]) {
      expect((await ask({ cursor, updated_since: all[before].updated_at })).data).toEqual(all.slice(60, 110))
    }
    const later = await ask({ cursor, updated_since: all[70].updated_at })
    expect(later.data).toEqual(all.slice(70, 120))
    expect((await ask({ cursor: later.next_cursor })).data).toEqual(all.slice(120))
  })
})

test('a record that changes while a client reads pages is listed again at the end, and no record is lost', async () => {
  const { path, secret } = await fillers['purchased vouchers']!(60, stamps['pairs of equal stamps'])
  const first = await client.rest(secret, path)
  const changed = first.body.data[7].id
  await platform`update purchased_voucher set void = true where id = ${changed}`
  const second = await client.rest(secret, `${path}?cursor=${first.body.next_cursor}`)
  expect(second.body.data).toHaveLength(11)
  expect(second.body.data.at(-1)).toMatchObject({ id: changed, void: true })
})
