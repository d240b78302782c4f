/** Reads copies that the command `sync` writes, and their expected content. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TenantListName, tenantListNames, tenantLists, VoucherGateway } from '#client'
import postgres from '#postgres'
import { openSqlite } from '../../packages/sync/src/stores/node-sqlite.ts'
import { createDirectory } from './directory.ts'
import { lineEnd } from './line-end.ts'

/** Records of a copy, or of the service, by list, tenant and id. */
export type Records = Record<string, unknown>

export interface Place {
  /** The value of `--to`. */
  to: string
  /** Reads all records, as a user of the copy does. */
  read: () => Promise<Records>
}

interface Row {
  list: string
  tenant_id: number
  id: number
  record: unknown
}

const tables = ['tenants', ...tenantListNames].map(list => list.replace('-', '_'))

const union = (schema: string) =>
  tables.map(table => `select '${table}' as list, tenant_id, id, record from ${schema}${table}`).join(' union all ')

const keyOf = (list: string, tenantId: number, id: number) => `${list.replace('_', '-')} ${tenantId} ${id}`

const byKey = (rows: readonly Row[]): Records =>
  sorted(rows.map(({ list, tenant_id, id, record }) => [keyOf(list, tenant_id, id), record]))

const sorted = (entries: [string, unknown][]): Records =>
  Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)))

export function directoryPlace(): Place {
  const to = join(createDirectory(), 'copy')
  const readLines = (path: string) => {
    const lines = existsSync(path) ? readFileSync(path, 'utf8').split(lineEnd) : []
    return lines.filter(Boolean).map(line => JSON.parse(line))
  }
  return {
    to,
    async read() {
      const rows: Row[] = readLines(join(to, 'tenants.ndjson')).map(record => {
        return { list: 'tenants', tenant_id: record.tenant_id, id: record.tenant_id, record }
      })
      for (const list of tenantListNames) {
        for (const name of existsSync(join(to, list)) ? readdirSync(join(to, list)) : []) {
          const tenant_id = Number(/^(\d+)\.ndjson$/.exec(name)?.[1])
          for (const record of readLines(join(to, list, name))) rows.push({ list, tenant_id, id: record.id, record })
        }
      }
      if (new Set(rows.map(({ list, tenant_id, id }) => keyOf(list, tenant_id, id))).size < rows.length) {
        throw new Error('The copy has a record twice.')
      }
      return byKey(rows)
    },
  }
}

export function sqlitePlace(): Place {
  const path = join(createDirectory(), 'copy.db')
  return {
    to: `sqlite:${path}`,
    async read() {
      const database = await openSqlite(path)
      const rows = database.prepare(union('')).all() as (Row & { record: string })[]
      database.close()
      return byKey(rows.map(row => ({ ...row, record: JSON.parse(row.record) })))
    },
  }
}

export function postgresPlace(url: string, schema = 'voucher_gateway_copy'): Place {
  return {
    to: url,
    async read() {
      const { hostname, port, username, pathname, searchParams } = new URL(url)
      const host = searchParams.get('host') ?? hostname
      const sql = postgres({ host, port: Number(port), user: username, database: pathname.slice(1), max: 1 })
      const rows = await sql.unsafe<Row[]>(union(`${schema}.`))
      await sql.end()
      return byKey(rows.map(row => ({ ...row, tenant_id: Number(row.tenant_id), id: Number(row.id) })))
    },
  }
}

export const hasSqlite = async () =>
  openSqlite(':memory:')
    .then(database => database.close())
    .then(
      () => true,
      () => false,
    )

/**
 * Functions that create a place for a copy, by the kind of store. Only the kinds that this version of Node supports.
 * The parameter `url` is the address of a database.
 */
export const everyPlace: [kind: string, (url: string) => Place][] = [
  ['a directory', () => directoryPlace()],
  ['PostgreSQL', url => postgresPlace(url)],
  ...((await hasSqlite()) ? [['SQLite', () => sqlitePlace()] satisfies [string, () => Place]] : []),
]

/** Reads the expected content of a copy from v1. @param names the names of the lists; by default all lists */
export async function readService(
  url: string,
  token: string,
  names: readonly TenantListName[] = tenantListNames,
): Promise<Records> {
  const client = new VoucherGateway({ url, token })
  const entries: [string, unknown][] = []
  for await (const tenant of client.tenants()) {
    const id = tenant.tenant_id
    entries.push([keyOf('tenants', id, id), tenant])
    for (const name of names) {
      for await (const record of client[tenantLists[name].list](id)) entries.push([keyOf(name, id, record.id), record])
    }
  }
  return sorted(entries)
}
