/** The databases of the writers' benchmarks: a template for each contender, of which every round gets fresh copies. */
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { Pool } from '../../src/db/connect.ts'
import { createMigrated, type DatabaseServer, startTemporaryServer } from '../harness/database-server.ts'
import { buildService, root } from '../harness/packages.ts'
import { describeRun } from '../harness/report.ts'

/** How many vouchers and tenants a contender's tables hold before a round. */
export const population = { vouchers: 20_000, tenants: 8 }

/** One way to stamp, in a database that is otherwise a copy of the others'. */
export interface Contender {
  name: string
  /** The SQL that turns a migrated database into the contender's. */
  change: string
}

const listed = ['tenant', 'product', 'variant', 'purchased_voucher', 'customer']

const dropTriggers = `do $$
declare
  found record;
begin
  for found in
    select tgrelid::regclass as name, tgname from pg_trigger join pg_class on pg_class.oid = tgrelid
    where not tgisinternal and (relnamespace = 'public'::regnamespace or tgrelid = 'gateway.removal'::regclass)
  loop
    execute format('drop trigger %I on %s', found.tgname, found.name);
  end loop;
end $$;`

const naiveTriggers = `create function gateway.stamp_naively() returns trigger language plpgsql as $$
begin
  new.updated_at := now();
  return new;
end $$;
${listed
  .map(
    table => `create trigger stamp_naively before insert or update on public.${table}
  for each row execute function gateway.stamp_naively();`,
  )
  .join('\n')}`

/** Without triggers: the base of all ratios. */
export const unstamped: Contender = { name: 'unstamped', change: dropTriggers }
/** The same again: its ratio is noise. */
export const unstampedAgain: Contender = { name: 'unstamped again', change: dropTriggers }
export const stamped: Contender = { name: 'stamped', change: '' }
export const naive: Contender = { name: 'naive now()', change: `${dropTriggers}\n${naiveTriggers}` }

/** @returns the stamped contender, changed by a file of SQL */
export const variantOf = (path: string): Contender => ({
  name: basename(path, '.sql'),
  change: readFileSync(path, 'utf8'),
})

const populate = `
insert into public.tenant (name) select 'Tenant ' || n from generate_series(1, ${population.tenants}) n;
insert into public.purchased_voucher
  (tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
select 1 + n % ${population.tenants}, 'OLD-' || n, 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01'
from generate_series(1, ${population.vouchers}) n;`

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
    buildService(root)
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
    await createMigrated(this.#server, 'base', root)
    if (!empty) {
      await this.#change('base', populate)
      await this.#change('base', 'vacuum (full, analyze)')
    }
    for (const [index, { change }] of this.#contenders.entries()) {
      await this.#admin.unsafe(`create database template_${index} template base`)
      if (change !== '') await this.#change(`template_${index}`, change)
    }
  }

  /** Opens the current copy of a contender's database: one connection, so that statements may begin a transaction. */
  open(contender: Contender): Pool {
    return this.#server.open(`copy_${this.#contenders.indexOf(contender)}`)
  }

  /** @returns so many connections to a fresh copy of each contender's database, in the contenders' order */
  async freshCopies(count: number): Promise<Pool[][]> {
    const copies: Pool[][] = []
    for (const [index, contender] of this.#contenders.entries()) {
      await this.#admin.unsafe(`drop database if exists copy_${index} with (force)`)
      await this.#admin.unsafe(`create database copy_${index} template template_${index}`)
      copies.push(Array.from({ length: count }, () => this.open(contender)))
    }
    // A checkpoint during the round would disturb one of them.
    await this.#admin`checkpoint`
    return copies
  }

  /** @returns when, on what and from which commit figures were measured, as a sentence */
  describe(): string {
    const commits = this.#durable ? 'Durable commits.' : 'Commits do not wait for the disk.'
    return `${describeRun(this.#server.version)} ${commits}`
  }

  async #change(database: string, change: string): Promise<void> {
    const pool = this.#server.open(database)
    await pool.unsafe(change).simple()
    await pool.end()
  }
}
