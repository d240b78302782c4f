/**
 * A later release, which makes each change for which CONTRIBUTING.md has a recipe: new fields, changed functions and
 * templates, and a new record type.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readMigrationFiles } from '../../src/db/migration/migrations.ts'
import { createLaterVersion } from '../support/later-version.ts'

const plain = join(import.meta.dirname, '../../mappings/plain')

/** The additions of the release to the tables of a platform. */
export const platformChanges = `
  alter table public.purchased_voucher add column next_text text, add column next_at timestamptz, add column is_next boolean;
  create table public."order" (id bigint primary key, tenant_id bigint not null, name text not null);`

/** The statements with which the platform writes to the new columns and the new table. */
export const writeChanges = `
  update public.purchased_voucher set next_text = 'Enjoy', next_at = '2026-01-02', is_next = true where id = 1;
  insert into public."order" select 7, min(id), 'First' from public.tenant;`

const order = 'select id as key, tenant_id, name from public."order"'
const fields: [string, string] = ['id as key', 'id as key, next_text, next_at, is_next']

/**
 * Writes the mapping of a platform that has the plain tables. The files get a comment, because an unchanged copy would
 * count as the plain mapping.
 */
export function copyMapping(folder: string): void {
  for (const file of readdirSync(plain)) {
    writeFileSync(join(folder, file), `-- Of the platform.\n${readFileSync(join(plain, file), 'utf8')}`)
  }
}

/** Changes that mapping in the way in which the release changes the plain mapping. */
export function changeMapping(folder: string): void {
  const file = join(folder, 'voucher.sql')
  writeFileSync(file, readFileSync(file, 'utf8').replace(...fields))
  writeFileSync(join(folder, 'order.sql'), order)
}

/**
 * Creates the program of the release, whose migration holds its locks for two seconds. @returns the path of the program
 * to run
 */
export function createNextRelease(): string {
  const newest = readMigrationFiles().at(-1)?.version ?? 0
  const nameOf = (added: number, rest: string) => `${String(newest + added).padStart(4, '0')}.${rest}.sql`
  return createLaterVersion({
    version: '99.0.0',
    edits: {
      'sql/functions/step/make_step.sql': ['declare\n', 'declare -- Changed.\n'],
      'sql/functions/mapping/write.template.sql': ['declare\n', 'declare -- Changed.\n'],
      'sql/functions/capture/capture.template.sql': ['as $body$\nbegin\n', 'as $body$\nbegin -- Changed.\n'],
      'sql/plain-tables.sql': ['create table public.customer', `${platformChanges}\ncreate table public.customer`],
      'mappings/plain/voucher.sql': fields,
    },
    mappings: { 'order.sql': order },
    migrations: {
      [nameOf(1, 'alone.order')]: `alter type gateway.record_type add value if not exists 'order';`,
      [nameOf(2, 'do.next')]: `
        do $$ begin
          if exists (select from gateway.mapping where is_plain) then ${platformChanges}
          end if;
        end $$;
        alter table gateway.voucher_fields add column next_text text, add column next_at timestamptz, add column is_next boolean;
        create table gateway.order_fields (id bigint not null, tenant_id bigint not null, name text not null);
        create table gateway."order" (primary key (id), updated_at timestamptz not null) inherits (gateway.order_fields);
        insert into gateway.key_field (record, field, kind) values ('order', 'tenant_id', 'tenant');
        create index order_list on gateway."order" (tenant_id, updated_at, id);
        grant select on gateway."order" to voucher_gateway;
        create index voucher_next on gateway.voucher (tenant_id, id);
        select pg_sleep(2);`,
      'functions/rule/order_error.sql': `
        create or replace function gateway.error_of(candidate gateway.order_fields) returns text
        language sql stable parallel safe
        return gateway.text_error('name', candidate.name);`,
    },
  })
}
