/** Reads the dumps of releases, their callers, and the functions and columns that the next release has to keep. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import type postgres from '#postgres'
import { serviceRole } from '../../src/db/connection/connect.ts'
import { readMigrationFiles } from '../../src/db/migration/migrations.ts'
import type { TenantCaller } from '../faults/support/world.ts'

/** The first line of a dump, which is a comment of SQL. */
export interface DumpHead {
  owners: readonly TenantCaller[]
  /** The digests of the migrations, by file. */
  migrations: Readonly<Record<string, string>>
  /** The functions and columns that the service uses, in the form of `readPromises`. */
  promises: readonly string[]
}

/** Returns the digests of the migrations of the checkout up to a version, by file. */
export const digestsUpTo = (last: number): Record<string, string> =>
  Object.fromEntries(readMigrationFiles().flatMap(({ version, file, md5 }) => (version > last ? [] : [[file, md5]])))

/**
 * Reads the functions that the service can call, with arguments and result, and the columns that it can read or write,
 * with their types.
 *
 * @param withFormer true to include objects whose comment begins with "Former", which only the previous release uses
 */
export async function readPromises(sql: Pick<postgres.Sql, 'unsafe'>, withFormer = false): Promise<string[]> {
  const rows = await sql.unsafe<{ promise: string; comment: string | null }[]>(`
    select concat_ws(' returns ', oid::regprocedure, pg_get_function_result(oid)) as promise, obj_description(oid, 'pg_proc') as comment
    from pg_proc
    where pronamespace = 'gateway'::regnamespace and has_function_privilege('${serviceRole}', oid, 'execute')
    union all
    select format('%s.%I %s', attrelid::regclass, attname, format_type(atttypid, atttypmod)), coalesce(col_description(attrelid, attnum), obj_description(attrelid, 'pg_class'))
    from pg_attribute join pg_class on pg_class.oid = attrelid
    where relnamespace = 'gateway'::regnamespace and attnum > 0 and not attisdropped and relkind in ('r', 'p', 'v')
      and has_column_privilege('${serviceRole}', attrelid, attnum, 'select, insert, update')
    order by promise`)
  return rows.filter(({ comment }) => withFormer || !comment?.startsWith('Former')).map(({ promise }) => promise)
}

export const dumpedReleases = readdirSync(import.meta.dirname)
  .filter(file => file.endsWith('.sql.gz'))
  .map(file => file.slice(0, -'.sql.gz'.length))

export const fileOf = (release: string) => join(import.meta.dirname, `${release}.sql.gz`)

export function readDump(release: string): DumpHead & { statements: string } {
  const text = gunzipSync(readFileSync(fileOf(release))).toString()
  const end = text.indexOf('\n')
  const head: DumpHead = JSON.parse(text.slice('-- '.length, end))
  return { ...head, statements: text.slice(end) }
}
