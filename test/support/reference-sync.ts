/** Runs the reference sync in this process, against a service that listens on a port. */

import { expect } from 'vitest'
import type { SyncEvent } from '../../packages/sync/src/event.ts'
import { runSync, type SyncOptions } from '../../packages/sync/src/run.ts'
import { readTarget } from '../../packages/sync/src/target.ts'
import type { Permission } from '../../src/domain/token/permission.ts'
import { whole } from './builders.ts'
import { type Place, readService } from './copies.ts'
import { projected } from './projected.ts'
import { startService } from './service.ts'

/**
 * Creates a service with a chain of tenants, and a token for the whole chain. @param vouchers the number of vouchers
 * that the chain has sold
 */
export async function createWorld(vouchers = 120, environment: NodeJS.ProcessEnv = {}) {
  const { client, database } = await startService(environment)
  const { build, platform, pool } = database
  const origin = await client.app.listen({ host: '127.0.0.1', port: 0 })
  const chain = await build.tenant()
  const venue = await build.tenant({ parent_id: chain })
  const rows = await platform<{ id: number }[]>`
    insert into purchased_voucher (tenant_id, reference) select ${chain}, 'SOLD-' || n from generate_series(1, ${vouchers}::int) n
    returning id`
  const sold = rows.map(({ id }) => id)
  await build.product(chain)
  for (const tenantId of [chain, venue]) await build.customer(tenantId)
  await build.voucher(venue)
  const permissions: Permission[] = ['view_vouchers', 'view_orders', 'export_customer_information']
  const token = await build.token([whole(chain)], { permissions })
  return {
    ...database,
    ...{ origin, chain, venue, sold, token },
    /** Returns functions that sync a copy with that token, and compare the copy with the service. */
    copyIn: (place: Place) => ({
      run: async (options: Options = {}) => {
        await projected(pool)
        return sync(origin, token.secret, place, options)
      },
      expectInStep: async () => expect(await place.read()).toEqual(await readService(origin, token.secret)),
    }),
  }
}

type Options = Partial<SyncOptions> & { schema?: string; stopAt?: (event: SyncEvent) => boolean }

/** Runs a sync to its end. @param options.stopAt returns true for the event at which to stop the sync */
export async function sync(origin: string, secret: string, place: Place, options: Options = {}) {
  const target = readTarget(place.to, options.schema ?? 'voucher_gateway_copy')
  if (!target) throw new Error(`${place.to} is no target.`)
  const events: SyncEvent[] = []
  const stop = new AbortController()
  const report = (event: SyncEvent) => {
    events.push(event)
    if (options.stopAt?.(event)) stop.abort()
  }
  const code = await runSync(
    {
      url: origin,
      readToken: async () => secret,
      to: target.name,
      openStore: target.open,
      readCopy: target.read,
      selection: { tenants: null, lists: null },
      watch: null,
      ...options,
    },
    report,
    stop.signal,
  )
  return { code, events, error: events.find(event => event.event === 'error') }
}
