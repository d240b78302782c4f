/** The databases of the benchmark: the plain tables, without and with capture, copied again for each round. */
import { migrate } from '../../src/db/migration/migrate.ts'
import type { Pool } from '../../src/db/sql.ts'
import { processCpu } from '../harness/cpu-time.ts'
import type { DatabaseServer } from '../harness/database-server.ts'

/** The numbers of vouchers and of tenants in the tables before a round. */
export const population = { vouchers: 40_000, tenants: 8 }

/** The number of sessions that write at the same time. */
export const writers = 4

/** The names of the databases: without capture, which is the base of all ratios, and with capture. */
export const contenders = ['plain', 'captured'] as const

/** A copy of the seeded database, for one round. */
export interface Copy {
  /** Pools of one connection each, so that a statement may begin a transaction. */
  sessions: Pool[]
  /** @returns the processor time that the backends of the sessions have used, in seconds */
  processorTime(): number
  close(): Promise<unknown>
}

/** The statements that fill the plain tables. */
export const fillQuery = `
select setval('public.purchased_voucher_id_seq', ${population.vouchers});
insert into public.tenant (name) select 'Tenant ' || n from generate_series(1, ${population.tenants}) n;
insert into public.purchased_voucher
  (id, tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
select n, 1 + n % ${population.tenants}, 'OLD-' || n, 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01'
from generate_series(1, ${population.vouchers}) n`

/**
 * Creates a database with the plain tables.
 *
 * @param name one of `contenders`, which says whether changes are captured
 * @param isEmpty whether the tables stay empty
 */
export async function createDatabase(server: DatabaseServer, name: string, isEmpty = false): Promise<void> {
  await server.create(name)
  const sql = server.open(name)
  await migrate(sql)
  if (name === 'plain') {
    const [row] = await sql<{ drops: string }[]>`
      select string_agg(format('drop trigger %I on %s', tgname, tgrelid::regclass), '; ') as drops
      from pg_trigger where tgname like 'capture\\_%'`
    await sql.unsafe(row?.drops ?? '').simple()
  }
  if (!isEmpty) await sql.unsafe(`${fillQuery}; truncate gateway.note`).simple()
  await sql.unsafe('vacuum (full, analyze)')
  await sql.end()
}

/** Opens the sessions of the writers. */
export async function openCopy(server: DatabaseServer, name: string): Promise<Copy> {
  const sessions = Array.from({ length: writers }, () => server.open(name))
  const pids = await Promise.all(sessions.map(sql => sql<[{ pid: number }]>`select pg_backend_pid() as pid`))
  const clocks = pids.map(([{ pid }]) => processCpu(pid))
  return {
    sessions,
    processorTime: () => clocks.reduce((sum, clock) => sum + clock(), 0),
    close: () => Promise.all(sessions.map(sql => sql.end())),
  }
}

/** Copies a database for a round. */
export async function copyDatabase(server: DatabaseServer, name: string): Promise<Copy> {
  const admin = server.open('postgres')
  await admin.unsafe(`drop database if exists ${name}_copy with (force)`)
  await admin.unsafe(`create database ${name}_copy template ${name}`)
  await admin.end()
  return openCopy(server, `${name}_copy`)
}
