import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { connect, type Pool } from '../src/db/connect.ts'
import { type EmbeddedPostgres, startEmbedded } from '../src/db/embedded.ts'
import { migrate } from '../src/db/migrate.ts'

/** How many vouchers, of how many tenants, a contender's tables hold before a round. */
export const population = { vouchers: 20_000, tenants: 8 }

/** One way to stamp, in a database of its own that is otherwise a copy of the others'. */
export interface Contender {
  name: string
  /** Makes the contender out of a migrated database. */
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

/** The measure of the others: no triggers at all. Its twin shows how far from 1 the ratio of equals comes out. */
export const unstamped: Contender = { name: 'unstamped', change: dropTriggers }
export const twin: Contender = { name: 'unstamped again', change: dropTriggers }
export const stamped: Contender = { name: 'stamped', change: '' }
export const naive: Contender = { name: 'naive now()', change: `${dropTriggers}\n${naiveTriggers}` }

/** @returns the stamped contender, changed by a file of SQL: for trying out what would make it cheaper */
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

/** The databases of a run: a template for each contender, of which every round gets fresh copies. */
export class Arena {
  readonly #server: EmbeddedPostgres
  readonly #admin: Pool
  readonly #durable: boolean

  private constructor(server: EmbeddedPostgres, durable: boolean) {
    this.#server = server
    this.#admin = this.open(server.database)
    this.#durable = durable
  }

  /**
   * Runs a benchmark on a server of its own, which ends with it.
   *
   * @param options.durable whether commits wait for the disk
   */
  static async run(options: { durable: boolean }, work: (arena: Arena) => Promise<unknown>): Promise<void> {
    const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
    // The server may run as another user, who has to pass through.
    chmodSync(dataDir, 0o711)
    const server = await startEmbedded({
      dataDir,
      durable: options.durable,
      // Neither vacuum nor a checkpoint shall fall on one contender and not on another.
      settings: { max_connections: '150', shared_buffers: '512MB', autovacuum: 'off', max_wal_size: '8GB' },
    })
    try {
      const arena = new Arena(server, options.durable)
      await work(arena)
      await arena.#admin.end()
    } finally {
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    }
  }

  /** Opens a database of the server: one connection, so that it may begin and commit by statements. */
  open(database: string): Pool {
    const { host, port, user } = this.#server
    return connect({ host, port, user, database }, { max: 1, statementTimeoutMs: 0 })
  }

  /**
   * Makes the contenders' templates: migrated and filled once, then copied and changed.
   *
   * @param options.empty whether the tables stay as the migrations leave them
   */
  async prepare(contenders: Contender[], options = { empty: false }): Promise<void> {
    await this.#admin.unsafe('create database base')
    await this.#within('base', async sql => {
      await migrate(sql)
      if (options.empty) return
      await sql.unsafe(populate).simple()
      await sql`vacuum (full, analyze)`
    })
    for (const [index, { change }] of contenders.entries()) {
      await this.#admin.unsafe(`create database template_${index} template base`)
      if (change !== '') await this.#within(`template_${index}`, sql => sql.unsafe(change).simple())
    }
  }

  /** @returns so many connections to a fresh copy of each contender's database, in their order */
  async freshCopies(contenders: Contender[], count: number): Promise<Pool[][]> {
    const copies: Pool[][] = []
    for (const index of contenders.keys()) {
      await this.#admin.unsafe(`drop database if exists copy_${index} with (force)`)
      await this.#admin.unsafe(`create database copy_${index} template template_${index}`)
      copies.push(Array.from({ length: count }, () => this.open(`copy_${index}`)))
    }
    // A checkpoint of its own accord would fall on one of them.
    await this.#admin`checkpoint`
    return copies
  }

  /** @returns whether the migrations make a function, such as `gateway.watermark()` */
  async hasFunction(signature: string): Promise<boolean> {
    let found = false
    await this.#within('base', async sql => {
      const [row] = await sql<{ found: boolean }[]>`select to_regprocedure(${signature}) is not null as found`
      found = row?.found === true
    })
    return found
  }

  /** @returns when, on what and from which commit figures were measured, as a sentence */
  async describe(): Promise<string> {
    const [row] = await this.#admin<{ server_version: string }[]>`show server_version`
    const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
    return `${new Date().toISOString().slice(0, 10)}, ${availableParallelism()} cores, Node ${process.version}, \
PostgreSQL ${row?.server_version ?? 'unknown'}, commit ${commit}, \
${this.#durable ? 'durable commits' : 'commits do not wait for the disk'}.`
  }

  async #within(database: string, work: (sql: Pool) => Promise<unknown>): Promise<void> {
    const pool = this.open(database)
    await work(pool)
    await pool.end()
  }
}
