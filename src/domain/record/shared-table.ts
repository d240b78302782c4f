import { shareStatements } from '../../db/statement/shared-statement.ts'
import type { TenantTable } from './tenant-table.ts'

/** The maximum number of pages that one shared statement reads. */
const maxPages = 4

/**
 * Shares the statements of single pages and single records between requests. The statement of one request may then read
 * for another request. So `withExportAudit` must wrap this reader, and not the reverse.
 *
 * @returns a function that returns a reader for a group; requests with the same `group` share statements
 */
export function withSharedStatements<Row>(table: TenantTable<Row>): (group: object) => TenantTable<Row> {
  const readPage = shareStatements(table.pages, maxPages)
  const readRecord = shareStatements(table.records)
  return group => ({
    ...table,
    pages(sql, requests) {
      const [first, second] = requests
      return first && !second ? readPage(group, sql, first).then(page => [page]) : table.pages(sql, requests)
    },
    records(sql, requests) {
      const [first, second] = requests
      return first && !second ? readRecord(group, sql, first).then(row => [row]) : table.records(sql, requests)
    },
  })
}
