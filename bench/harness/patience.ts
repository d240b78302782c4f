import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { connect, type Pool, serviceRole } from '../../src/db/connect.ts'
import { clusterOf } from '../../src/db/embedded-paths.ts'
import { listAudit } from '../../src/domain/audit.ts'
import { searchTenants } from '../../src/domain/tenant-tree.ts'
import { capture } from '../../test/graphql/statements.ts'
import { type Call, readCalls } from './calls.ts'
import { dataHome, openSeeded, type SeededDatabase } from './database.ts'
import { type Asked, graphqlRequest } from './doors.ts'
import { dropLarge, type LargeDatabase, largeSizes, makeLarge } from './large.ts'
import { serviceDoor, startService } from './line-up.ts'
import type { Load } from './load.ts'
import { bigTenant, sizes } from './seed.ts'
import { captureStatements, collect, type Repeated, repeat } from './statements.ts'

/** How long a statement was waited for, in milliseconds. */
export interface Waited {
  title: string
  statement: string
  warm: number[]
  loaded: number[]
  cold: number[]
}

/** A statement that is asked of one of the server's databases. */
interface Case {
  title: string
  database: string
  statement: Repeated
}

const open = (address: SeededDatabase['address'], database: string) =>
  connect({ ...address, database }, { max: 1, statementTimeoutMs: 0, role: serviceRole })

const count = (number: number) => number.toLocaleString('en')

function pick(title: string, database: string, statements: Repeated[], name: string): Case {
  const statement = statements.find(found => found.name === name)
  if (!statement) throw new Error(`Of ${statements.map(found => found.name).join(', ')} none is ${name}.`)
  return { title, database, statement }
}

/** What is asked of the seeded database. */
async function seededCases(database: SeededDatabase, calls: Call[]): Promise<Case[]> {
  const { secret, address } = database
  const door = serviceDoor(secret)
  const found = async (title: string, asked: Asked[], name: string) =>
    pick(title, address.database, await captureStatements(database, asked), name)
  const ofCall = async (title: string, wanted: string, name: string) => {
    const { operation, samples } = calls.find(call => call.name === wanted)!
    return found(title, await Promise.all(samples.map(sample => door.ask(operation, sample, ''))), name)
  }
  const ofTenant = (title: string, fields: string, name: string) =>
    found(title, [graphqlRequest(secret, `{ tenant(id: ${bigTenant}) { ${fields} } }`, {})], name)
  const [size] = await database.sql<{ vouchers: number; products: number }[]>`
    select (select count(*) from purchased_voucher where tenant_id = ${bigTenant}) as vouchers,
           (select count(*) from product where tenant_id = ${bigTenant}) as products`
  return [
    await ofTenant(
      `\`totalCount\` of ${count(size!.vouchers)} vouchers`,
      'purchasedVouchers(first: 1) { totalCount }',
      'voucher.count',
    ),
    await ofTenant(
      `\`totalCount\` of ${count(size!.products)} products`,
      'catalogVouchers(first: 1) { totalCount }',
      'product.count',
    ),
    await ofCall('a page of 50 vouchers, at any place', 'vouchers', 'voucher.list'),
    await ofCall('a page of 50 vouchers, the last of the largest list', 'last', 'voucher.list'),
    await ofTenant(
      'the last 100 vouchers, backward',
      'purchasedVouchers(last: 100) { nodes { reference } }',
      'voucher.list',
    ),
    await ofCall('a page of 50 products, at any place', 'products', 'product.list'),
    await ofCall('a voucher by its reference', 'resolution', 'resolution.find'),
  ]
}

/** What is asked of the database with many tenants and a long audit. */
async function largeCases(large: LargeDatabase, size: keyof typeof sizes): Promise<Case[]> {
  const { tenants, entries } = largeSizes[size]
  const { database } = large.address
  const pool = open(large.address, database)
  const asked = async (title: string, fields: string, name: string) =>
    pick(title, database, await captureStatements(large, [graphqlRequest(large.secret, `{ ${fields} }`, {})]), name)
  const read = async (title: string, name: string, work: (pool: Pool) => Promise<unknown>) =>
    pick(title, database, collect(await capture(pool, () => work(pool))), name)
  const audit = (
    title: string,
    ...[filter, range]: [Parameters<typeof listAudit>[1], Parameters<typeof listAudit>[2]]
  ) => read(`the audit of ${count(entries)} entries: ${title}`, 'audit.list', sql => listAudit(sql, filter, range))
  try {
    return [
      await asked(`\`totalCount\` of ${count(tenants)} tenants`, 'tenants(first: 1) { totalCount }', 'tenant.count'),
      await asked('a page of 50 of these tenants, the first', 'tenants(first: 50) { nodes { name } }', 'tenant.list'),
      await asked('a page of 100, the last, backward', 'tenants(last: 100) { nodes { name } }', 'tenant.list'),
      await read('a tenant by a part of its name', 'tenant_tree.search', sql => searchTenants(sql, 'low 99')),
      await audit('an actor who is not there', { actor: 'nobody' }, { limit: 51 }),
      await audit('a tenant that has no entry', { tenantId: entries * 2 }, { limit: 51 }),
      await audit('a batch of its CSV', {}, { before: entries, limit: 1000 }),
      await audit(
        'a batch of its CSV, for an actor who is not there',
        { actor: 'nobody' },
        { before: entries, limit: 1000 },
      ),
    ]
  } finally {
    await pool.end()
  }
}

async function time(pool: Pool, statement: Repeated, turn: number): Promise<number> {
  const began = performance.now()
  await repeat(pool, statement, turn)
  return performance.now() - began
}

/** Lets the operating system forget the files of a server that is stopped (GNU dd: "Advise to drop cache"). */
function forgetFiles(size: keyof typeof sizes): void {
  const drop = ['-exec', 'dd', 'if={}', 'iflag=nocache', 'count=0', 'status=none', ';']
  execFileSync('find', [clusterOf(join(dataHome, size)), '-type', 'f', '-size', '+0', ...drop])
}

/**
 * Times the slowest statements that requests may send.
 *
 * @param timing how many runs there are of each, warm (at the least) and cold; for how many seconds each is run beside
 *   a load
 */
export async function timeStatements(
  size: keyof typeof sizes,
  load: Load,
  timing: { warm: number; cold: number; seconds: number },
  say: (progress: string) => void,
): Promise<Waited[]> {
  let database = await openSeeded(size, say)
  try {
    const large = await makeLarge(database, size)
    say(`made a database of ${count(largeSizes[size].tenants)} tenants`)
    const calls = await readCalls(database.sql, sizes[size])
    const cases = [...(await seededCases(database, calls)), ...(await largeCases(large, size))]
    const waited = cases.map(({ title, statement: { name } }): Waited => {
      return { title, statement: name, warm: [], loaded: [], cold: [] }
    })
    await timeWarm(database, load, calls, cases, waited, timing)
    say('timed warm and beside a load')
    for (let round = 0; round < timing.cold; round++) {
      for (const [index, { database: name, statement }] of cases.entries()) {
        await database.close()
        forgetFiles(size)
        database = await openSeeded(size, say)
        const pool = open(database.address, name)
        await pool`select 1`
        waited[index]!.cold.push(await time(pool, statement, round * 37))
        await pool.end()
      }
      say(`timed cold: round ${round + 1} of ${timing.cold}`)
    }
    await dropLarge(database)
    return waited
  } finally {
    await database.close()
  }
}

async function timeWarm(
  database: SeededDatabase,
  load: Load,
  calls: Call[],
  cases: Case[],
  waited: Waited[],
  timing: { warm: number; seconds: number },
): Promise<void> {
  const door = serviceDoor(database.secret)
  const { operation, samples } = calls.find(call => call.name === 'vouchers')!
  const asked = await Promise.all(samples.map(sample => door.ask(operation, sample, '')))
  const service = await startService(database)
  try {
    await load.put(service.origin, asked, 0, timing.seconds)
    for (const [index, { database: name, statement }] of cases.entries()) {
      const pool = open(database.address, name)
      // The first ones are not kept: they read from files, and have plans of their own.
      for (let turn = 0; turn < 6; turn++) await repeat(pool, statement, turn)
      const turns = Math.max(timing.warm, statement.parameters.length)
      for (let turn = 0; turn < turns; turn++) waited[index]!.warm.push(await time(pool, statement, turn))
      let isOver = false
      const loading = load.put(service.origin, asked, 0, timing.seconds).finally(() => {
        isOver = true
      })
      for (let turn = 0; !isOver; turn++) waited[index]!.loaded.push(await time(pool, statement, turn))
      await loading
      await pool.end()
    }
  } finally {
    await service.stop()
  }
}
