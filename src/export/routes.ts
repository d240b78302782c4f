/** Defines the bulk exports. Each export is a whole list of v1 in one response, with the records of v1. */

import { mapMaybePromise } from '../async/maybe-promise.ts'
import type { ListIdentity, Position } from '../domain/paging/cursor.ts'
import type { PageWindow } from '../domain/paging/page.ts'
import { type Chunk, chunkOfPage } from '../domain/record/chunk.ts'
import { withExportAudit } from '../domain/record/export.ts'
import { listTenants, tenantList } from '../domain/tenant/tenant.ts'
import type { Permission } from '../domain/token/permission.ts'
import type { RecordSelection } from '../executor/plan.ts'
import { resolveLevel } from '../executor/resolve.ts'
import { Answer, writeObject } from '../executor/serialize.ts'
import type { Reader } from '../graphql/loaders.ts'
import { findResource } from '../graphql/resource.ts'
import { escapeLines } from '../json-line.ts'
import type { RestOperation } from '../rest/operation.ts'
import { pathToBody, prepareRecords } from '../rest/prepare-operation.ts'
import * as documents from '../rest/v1/operations.ts'
import { v1 } from '../rest/v1/routes.ts'

const lineFeed = 0x0a

/**
 * Writes records as lines of JSON in UTF-8, each with its line feed.
 *
 * @throws the first error of a field
 */
type WriteRecords = (context: unknown, records: readonly object[]) => Buffer | Promise<Buffer>

/** Returns a function that writes records as the list of an operation shows them. */
const createRecordWriter =
  ({ plan, shared }: RecordSelection): WriteRecords =>
  (context, records) =>
    mapMaybePromise(
      resolveLevel(plan, records, { context, variables: {}, shared }, () => undefined),
      level => {
        const answer = new Answer()
        const { body, errors } = answer
        for (let place = 0; place < records.length; place++) {
          writeObject(answer, plan, level, place, 0)
          const [error] = errors
          if (error) throw error.originalError ?? error
          body.byte(lineFeed)
        }
        return escapeLines(body.finish())
      },
    )

export interface ExportedList {
  /** The list to which the cursors of the export belong. */
  identity: ListIdentity
  /**
   * Reads the first records of a window. Access to personal data is recorded in the audit before the records are
   * returned.
   */
  read(reader: Pick<Reader, 'sql' | 'records' | 'caller'>, window: PageWindow): Promise<Chunk<Position>>
}

export interface BulkExport {
  /** The name under which requests for the export are counted. */
  name: string
  /** The path below `exportPath`, with `:tenant` for the tenant. */
  path: string
  permissions: readonly Permission[]
  /** A sentence that describes the content of the response. */
  returns: string
  /** The number of records that one statement reads, one or two megabytes. */
  chunkSize: number
  write: WriteRecords
  /** Returns the list of the tenant in the path. @param tenantId null when the path has no tenant */
  listOf(tenantId: number | null): ExportedList
}

/** Returns the export for the list of an operation of v1; null when the operation lists no resource. */
function createBulkExport({ name, document, returns }: RestOperation): BulkExport | null {
  const list = pathToBody(document).at(-1)?.name.value ?? ''
  const resource = findResource(list)
  if (!resource) return null
  const { permissions, chunkSize, listOf, table, personalData } = resource
  return {
    name: name.replace('List', 'Export'),
    path: `/tenants/:tenant/${list.replaceAll(/[A-Z]/g, capital => `-${capital.toLowerCase()}`)}`,
    permissions,
    returns: returns.replace('A page of ', 'All '),
    chunkSize,
    write: createRecordWriter(prepareRecords(document)),
    listOf(tenantId) {
      if (tenantId === null) throw new Error(`The path of an export of ${list} has no tenant.`)
      return {
        identity: listOf(tenantId),
        read: (reader, window) =>
          (personalData ? withExportAudit(reader, table) : table).chunk(reader.records, { tenantId, window }),
      }
    },
  }
}

const tenants: BulkExport = {
  name: 'ExportTenants',
  path: '/tenants',
  permissions: [],
  returns: 'All tenants of the token.',
  chunkSize: 2_000,
  write: createRecordWriter(prepareRecords(documents.ListTenants)),
  listOf: () => ({
    identity: tenantList,
    read: async ({ records, caller }, window) => chunkOfPage(await listTenants(records, caller.token, window)),
  }),
}

/** The exports, in the order of v1: one of tenants, and one for each list of a resource in v1. */
export const bulkExports: readonly BulkExport[] = [
  tenants,
  ...v1.operations.map(createBulkExport).filter(bulkExport => bulkExport !== null),
]
