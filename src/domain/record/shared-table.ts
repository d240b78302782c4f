import { shareStatements } from '../../db/statement/shared-statement.ts'
import type { TenantTable } from './tenant-table.ts'

/** The maximum number of pages of requests that share a statement. */
const maxPages = 4

/**
 * Shares the statements of single pages and single records between requests. One request's statement may then read for
 * another request, so a reader that records exports (`withExportAudit`) must wrap this reader.
 *
 * @returns a function that returns the reader of a request; requests with the same `group` share statements
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
