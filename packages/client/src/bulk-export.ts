/** Bulk exports: a whole list in one answer, as lines of JSON. */
import { VoucherGatewayError } from './error.ts'
import { isObject, parseJson } from './json.ts'
import { invalidResponse, type Page, RecordList } from './list.ts'
import type { CallOptions, GatewayRequest, Transport } from './transport.ts'

/** What a call for an export takes. */
export interface ExportOptions extends CallOptions {
  /** Continues after a chunk, with its `nextCursor`. */
  cursor?: string | undefined
}

/** Creates an export. After a broken connection it continues from the last cursor that arrived. */
export function createExport<T>(transport: Transport, path: string, { cursor, signal }: ExportOptions): RecordList<T> {
  return new RecordList<T>(async function* () {
    let next = cursor
    for (let failures = 0; ; ) {
      const request = { path, query: { cursor: next }, accept: 'application/x-ndjson', repeatable: true, signal }
      try {
        for await (const chunk of readChunks<T>(transport, request)) {
          yield chunk
          if (chunk.nextCursor === null) return
          next = chunk.nextCursor
          failures = 0
        }
      } catch (error) {
        await transport.waitAfter(error, ++failures, request)
      }
    }
  })
}

/**
 * Reads one answer. A chunk is yielded only when its cursor has arrived: otherwise its first records would come again after
 * a broken connection.
 *
 * @throws VoucherGatewayError `EXPORT_INCOMPLETE` when the answer ends without its last line
 */
async function* readChunks<T>(transport: Transport, request: GatewayRequest): AsyncGenerator<Page<T>, void, undefined> {
  let records: T[] = []
  let count = 0
  let serverTime: string | undefined
  let rest = ''
  let requestId = ''
  for await (const part of transport.read(request)) {
    requestId = part.requestId
    const lines = (rest + part.text).split('\n')
    rest = lines.pop() ?? ''
    for (const text of lines) {
      const line = parseJson(text)
      if (!isObject(line)) throw invalidResponse(requestId)
      if (serverTime === undefined) {
        if (typeof line.server_time !== 'string') throw invalidResponse(requestId)
        serverTime = line.server_time
      } else if (typeof line.cursor === 'string') {
        yield { records, nextCursor: line.cursor, serverTime }
        records = []
      } else if (line.end === true) {
        if (line.count !== count) throw incomplete(requestId)
        yield { records, nextCursor: null, serverTime }
        return
      } else {
        // The type of a record is the service's promise, as in a page.
        records.push(line as T)
        count += 1
      }
    }
  }
  throw incomplete(requestId)
}

const incomplete = (requestId: string) =>
  new VoucherGatewayError('The export ended without its last line. Continue it from its last cursor.', {
    code: 'EXPORT_INCOMPLETE',
    requestId,
  })
