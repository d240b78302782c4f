/** Reads bulk exports: one answer holds a whole list as lines of JSON. */
import { type Check, count as countCheck, cursor, instant, object, parse } from './check.ts'
import { VoucherGatewayError } from './error.ts'
import { isObject, parseJson } from './json.ts'
import { type Page, RecordList } from './list.ts'
import { type CallOptions, type GatewayRequest, requireBounded, type Transport } from './transport.ts'

export interface ExportOptions extends CallOptions {
  /** The `nextCursor` of a chunk: the export continues after this chunk. */
  cursor?: string | undefined
}

const startLine = object({ server_time: instant })
const cursorLine = object({ cursor })
const endLine = object({ count: countCheck })

/**
 * Creates an export. When the connection breaks, a new request continues from the last cursor that arrived.
 *
 * @param check checks one record
 */
export function readExport<T>(
  transport: Transport,
  path: string,
  check: Check<T>,
  { cursor: from, signal }: ExportOptions,
): RecordList<T> {
  return new RecordList<T>(async function* () {
    let next = from
    for (let failures = 0; ; ) {
      const request = { path, query: { cursor: next }, accept: 'application/x-ndjson', repeatable: true, signal }
      try {
        for await (const chunk of readChunks(transport, request, check)) {
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
 * Reads one answer. Yields a chunk only when its cursor has arrived. Otherwise the records of a half-read chunk would
 * be returned twice when the connection breaks.
 *
 * @throws VoucherGatewayError `EXPORT_INCOMPLETE` when the answer ends without its last line
 */
async function* readChunks<T>(
  transport: Transport,
  request: GatewayRequest,
  check: Check<T>,
): AsyncGenerator<Page<T>, void, undefined> {
  let records: T[] = []
  let count = 0
  let serverTime: string | undefined
  let rest = ''
  let length = 0
  let requestId = ''
  for await (const part of transport.read(request)) {
    requestId = part.requestId
    length += part.text.length
    requireBounded(length, requestId)
    const [first = '', ...others] = part.text.split('\n')
    const lines = [rest + first, ...others]
    rest = lines.pop() ?? ''
    for (const text of lines) {
      const line = parseJson(text)
      if (serverTime === undefined) {
        serverTime = parse(startLine, line, requestId, 'line').server_time
      } else if (isObject(line) && 'cursor' in line) {
        yield { records, nextCursor: parse(cursorLine, line, requestId, 'line').cursor, serverTime }
        records = []
        length = rest.length
      } else if (isObject(line) && line.end === true) {
        if (parse(endLine, line, requestId, 'line').count !== count) throw incompleteError(requestId)
        yield { records, nextCursor: null, serverTime }
        return
      } else {
        records.push(parse(check, line, requestId, 'record'))
        count += 1
      }
    }
  }
  throw incompleteError(requestId)
}

const incompleteError = (requestId: string) =>
  new VoucherGatewayError('The export ended without its last line. Continue it from its last cursor.', {
    code: 'EXPORT_INCOMPLETE',
    requestId,
  })
