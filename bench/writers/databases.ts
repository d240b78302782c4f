/** The databases of the writers' benchmarks: a template for each contender, which every round copies. */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { migrate } from '../../src/db/migrate.ts'
import type { Pool } from '../../src/db/sql.ts'
import { type DatabaseServer, startTemporaryServer } from '../harness/database-server.ts'
import { describeRun } from '../harness/report.ts'

/** The numbers of vouchers and tenants that a contender's tables hold before a round. */
export const population = { vouchers: 40_000, tenants: 8 }

/** The schema that writers pay for, in a database that is otherwise a copy of the others'. */
export interface Contender {
  name: string
  /** The SQL that turns a migrated database into the contender's. */
  change: string
}

/** Drops the triggers, and the indexes of vouchers and removals, of a migrated database whose names match regular expressions. */
const without = (triggers: string, indexes: string) => `do $$
declare
  dropped text;
begin
  for dropped in
    select format('drop trigger %I on %s', tgname, tgrelid::regclass)
    from pg_trigger join pg_class on pg_class.oid = tgrelid
    where not tgisinternal and tgname ~ '${triggers}'
      and (relnamespace = 'public'::regnamespace or tgrelid = 'gateway.removal'::regclass)
    union all
    select format('drop index %s', indexrelid::regclass)
    from pg_index join pg_class on pg_class.oid = indexrelid
    where indrelid in ('public.purchased_voucher'::regclass, 'gateway.removal'::regclass)
      and not indisunique and relname ~ '${indexes}'
  loop
    execute dropped;
  end loop;
end $$;`

/** The platform's own tables: their primary keys, references and QR tokens. The base of all ratios. */
export const bare: Contender = { name: 'bare', change: without('', '') }
/** Stamps and removals alone, with the indexes of the lists. */
export const stamps: Contender = { name: 'stamps', change: without('^record_unlisted_', '_changes$') }
/** All that the migrations create: searches and figures need an index of ranges of pages, and no trigger of vouchers. */
export const complete: Contender = { name: '+ search, figures', change: '' }

/** @returns stamps alone, changed by a file of SQL */
export const variantOf = (path: string): Contender => ({
  name: basename(path, '.sql'),
  change: `${stamps.change}\n${readFileSync(path, 'utf8')}`,
})

/** The SQL that fills the tables before a round. */
export const populate = `
select gateway.announce_bulk_write();
select setval('public.purchased_voucher_id_seq', ${population.vouchers});
insert into public.tenant (name) select 'Tenant ' || n from generate_series(1, ${population.tenants}) n;
insert into public.purchased_voucher
  (id, tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
select n, 1 + n % ${population.tenants}, 'OLD-' || n, 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01'
from generate_series(1, ${population.vouchers}) n;`

/** Connections to a database: pools of one each, so that a statement may begin a transaction. */
export type Connections = [Pool, ...Pool[]]

/** The contenders' databases, on one server. */
export class ContenderDatabases {
  readonly #server: DatabaseServer
  readonly #admin: Pool
  readonly #contenders: Contender[]
  readonly #durable: boolean

  private constructor(server: DatabaseServer, contenders: Contender[], durable: boolean) {
    this.#server = server
    this.#admin = server.open('postgres')
    this.#contenders = contenders
    this.#durable = durable
  }

  /**
   * Runs a benchmark on a new server, which is removed afterwards.
   *
   * @param options.durable whether commits wait for the disk
   * @param options.empty whether the tables stay as the migrations leave them
   */
  static async run(
    contenders: Contender[],
    options: { durable: boolean; empty: boolean },
    work: (databases: ContenderDatabases) => Promise<unknown>,
  ): Promise<void> {
    const server = await startTemporaryServer({ sharedBuffers: '512MB', durable: options.durable })
    try {
      const databases = new ContenderDatabases(server, contenders, options.durable)
      await databases.#createTemplates(options.empty)
      await work(databases)
      await databases.#admin.end()
    } finally {
      await server.stop()
    }
  }

  async #createTemplates(empty: boolean): Promise<void> {
    await this.#server.create('base')
    await this.#open('base', migrate)
    if (!empty) {
      await this.#change('base', populate)
      await this.#change('base', 'vacuum (full, analyze)')
    }
    for (const [index, { change }] of this.#contenders.entries()) {
      await this.#admin.unsafe(`create database template_${index} template base`)
      if (change !== '') await this.#change(`template_${index}`, change)
    }
  }

  /** @returns connections to a fresh copy of each contender's database, in the contenders' order */
  async freshCopies(count: number): Promise<Connections[]> {
    const copies: Connections[] = []
    for (const index of this.#contenders.keys()) {
      const name = `copy_${index}`
      await this.#admin.unsafe(`drop database if exists ${name} with (force)`)
      await this.#admin.unsafe(`create database ${name} template template_${index}`)
      const open = () => this.#server.open(name)
      copies.push([open(), ...Array.from({ length: count - 1 }, open)])
    }
    // A checkpoint during the round would disturb one of them.
    await this.#admin`checkpoint`
    return copies
  }

  /** @returns a sentence with the time, the machine and the commit of a measurement */
  describe(): string {
    const commits = this.#durable ? 'Durable commits.' : 'Commits do not wait for the disk.'
    return `${describeRun(this.#server.version)} ${commits}`
  }

  #change(database: string, change: string): Promise<unknown> {
    return this.#open(database, pool => pool.unsafe(change).simple())
  }

  async #open(database: string, work: (pool: Pool) => Promise<unknown>): Promise<void> {
    const pool = this.#server.open(database)
    await work(pool)
    await pool.end()
  }
}
