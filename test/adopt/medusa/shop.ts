/** Starts the server of Medusa in a separate process, and acts as its customers and its administrator. */
import { join } from 'node:path'
import { afterFile } from '../../support/cleanups.ts'
import type { TestDatabase } from '../../support/database.ts'
import { createDirectory } from '../../support/directory.ts'
import { freePort } from '../../support/free-port.ts'
import { run, start } from '../../support/process.ts'
import { startProxy } from '../../support/proxy.ts'
import { until } from '../../support/until.ts'

const program = {
  cwd: join(import.meta.dirname, 'server'),
  entry: join(import.meta.dirname, 'node_modules/@medusajs/medusa/cli.js'),
}

interface Order {
  id: string
  total: number
  gift_card_total: number
}

/**
 * Creates the tables of Medusa in a database, and starts the Medusa server.
 *
 * @param address a server of PostgreSQL that listens on a Unix socket
 */
export async function startMedusa({ host, port, user, database }: TestDatabase['address']) {
  // Medusa cannot connect to a Unix socket, so a proxy listens on a TCP port.
  const proxy = await startProxy(() => `${host}/.s.PGSQL.${port}`)
  afterFile(proxy.stop)
  const environment = {
    DATABASE_URL: `postgres://${user}@127.0.0.1:${proxy.port}/${database}`,
    HOME: createDirectory(),
    MEDUSA_DISABLE_TELEMETRY: 'true',
  }
  const migrated = await run(['migrations', 'run'], environment, program)
  if (migrated.code !== 0) throw new Error(migrated.stderr)
  const listening = await freePort()
  const server = start(['start', '--port', `${listening}`], environment, program)
  const origin = `http://127.0.0.1:${listening}`
  await until(
    'Medusa listens',
    async () => {
      if (server.child.exitCode !== null) throw new Error(server.printed())
      return (await fetch(`${origin}/health`).catch(() => null))?.ok
    },
    60_000,
  )

  async function request(method: string, path: string, body?: object) {
    const response = await fetch(origin + path, {
      method,
      headers: { 'content-type': 'application/json', 'x-medusa-access-token': 'admin' },
      ...(body && { body: JSON.stringify(body) }),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
    return response.json()
  }

  return {
    /** Sends a request as the administrator whom rows.sql creates. */
    admin: (method: string, path: string, body?: object) => request(method, `/admin/${path}`, body),
    /** Orders and pays one piece of a variant as a customer. With a `code`, the customer pays with that gift card. */
    async order(region: string, variant: string, code?: string): Promise<Order> {
      const items = [{ variant_id: variant, quantity: 1 }]
      const { cart } = await request('POST', '/store/carts', { region_id: region, items })
      const path = `/store/carts/${cart.id}`
      await request('POST', path, { email: 'guest1@example.com', ...(code && { gift_cards: [{ code }] }) })
      await request('POST', `${path}/payment-sessions`)
      const { type, data } = await request('POST', `${path}/complete`)
      if (type !== 'order') throw new Error(`The cart is not ordered: ${JSON.stringify(data)}`)
      return data
    },
  }
}
