import { chmodSync, mkdtempSync } from 'node:fs'
import { startEmbedded } from '/tmp/wt-fast/src/db/embedded.ts'
import { connect } from '/tmp/wt-fast/src/db/connect.ts'
import { migrate } from '/tmp/wt-fast/src/db/migrate.ts'
import { loadDemo } from '/tmp/wt-fast/src/demo/load.ts'
const dir = '/tmp/q/data'
import { mkdirSync, existsSync } from 'node:fs'
mkdirSync(dir, { recursive: true }); chmodSync('/tmp/q', 0o711); chmodSync(dir, 0o711)
const { host, port, user, database } = await startEmbedded({ dataDir: dir, durable: false })
const pool = connect({ host, port, user, database }, { max: 4, statementTimeoutMs: 60000 })
await migrate(pool)
const [{ n }] = await pool`select count(*) n from tenant` as any
if (n === 0) { await loadDemo(pool, { scale: 5 }); await pool`vacuum analyze` }
const { buildServer } = await import('/tmp/wt-fast/src/server.ts')
const { readConfig } = await import('/tmp/wt-fast/src/config.ts')
const { createToken } = await import('/tmp/wt-fast/src/domain/token.ts')
const { schema } = await import('/tmp/wt-fast/src/graphql/schema.ts')
const fast = await import('/tmp/wt-fast/src/rest/v1/execute.ts')
const slow = await import('/tmp/wt-fast/test/support/ordinary.ts')
const docs = await import('/tmp/wt-fast/src/rest/v1/operations.ts')
const { createContext } = await import('/tmp/wt-fast/src/graphql/context.ts')
const { createCursorSeal } = await import('/tmp/wt-fast/src/domain/cursor.ts')
const { createTenantScope } = await import('/tmp/wt-fast/src/domain/scope.ts')
const { createMemoryRateCounter } = await import('/tmp/wt-fast/src/domain/rate.ts')
const { permissionNames } = await import('/tmp/wt-fast/src/domain/permission.ts')
const gateway: any = { sql: pool, cursors: createCursorSeal(Buffer.alloc(32)), clock: { requireSteady() {} , look: async()=>{}}, scope: createTenantScope(pool), rate: { limit: 1e9, counter: createMemoryRateCounter() }, redemptionTokenTtl: 900 }
const [big] = await pool`select tenant_id, count(*) from purchased_voucher group by 1 order by 2 desc limit 1` as any
const [bigp] = await pool`select tenant_id, count(*) from product group by 1 order by 2 desc limit 1` as any
const [one] = await pool`select id from purchased_voucher where tenant_id = ${big.tenant_id} limit 1` as any
console.log(big, bigp)
const token: any = { id: 1, name: 'x', permissions: [...permissionNames], tenants: [{ tenantId: 1, withDescendants: true }, { tenantId: big.tenant_id, withDescendants: true }], rateLimit: null, expiresAt: null }
const ctx = () => createContext(gateway, { token, rateKey: 'x', prepaid: 1 } as any)
const bodies: Record<string, [any, object]> = {
  vouchers: [docs.ListPurchasedVouchersDocument, { tenant: String(big.tenant_id) }],
  products: [docs.ListCatalogVouchersDocument, { tenant: String(bigp.tenant_id), categories: true, variants: true }],
  voucher: [docs.GetPurchasedVoucherDocument, { tenant: String(big.tenant_id), voucher: String(one.id) }],
}
const raw: Record<string, () => Promise<unknown>> = {
  vouchers: async () => JSON.stringify(await pool`select * from purchased_voucher where tenant_id = ${big.tenant_id} and (updated_at,id) > ('-infinity'::timestamptz, 0) order by updated_at, id limit 51`),
  voucher: async () => JSON.stringify(await pool`select * from purchased_voucher where tenant_id = ${big.tenant_id} and id = ${one.id}`),
}
async function time(f: () => Promise<unknown>, n: number) {
  for (let i = 0; i < 200; i++) await f()
  const c = process.cpuUsage(); const t = performance.now()
  let left = n
  await Promise.all(Array.from({ length: 8 }, async () => { while (left-- > 0) await f() }))
  const u = process.cpuUsage(c)
  return `${((u.user + u.system) / n).toFixed(0)} µs cpu, ${((performance.now() - t) * 1000 / n).toFixed(0)} µs wall`
}
const only = process.argv[2]
for (const [name, [doc, variables]] of Object.entries(bodies)) {
  if (only && only !== name) continue
  const f = fast.prepare(doc), s = slow.prepare(doc)
  const a = await f(ctx(), variables), b = JSON.stringify(await s(ctx(), variables))
  const strip = (x: string) => x.replace(/"(next_cursor|server_time)":"[^"]*"/g, '')
  console.log(name, a.length, strip(a) === strip(b))
  for (let r = 0; r < 2; r++) {
    console.log('  fast', await time(() => f(ctx(), variables), +(process.env.N ?? 2000)))
    if (!only) console.log('  slow', await time(async () => JSON.stringify(await s(ctx(), variables)), 500))
    if (raw[name] && !process.env.ONLYFAST) console.log('  raw ', await time(raw[name], 1500))
  }
}
process.exit(0)
