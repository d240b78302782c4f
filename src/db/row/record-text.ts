/**
 * Finds the columns in the text of records, in PostgreSQL's output format of composite values (PostgreSQL, 8.16.6). A
 * record is in parentheses, with commas between the columns. A quoted column has doubled quotation marks and
 * backslashes; a null is empty. There is no separator between two records.
 */

/** The bytes of records, and the positions of the columns in the bytes. */
export interface RecordText {
  readonly bytes: Buffer
  /** The start and the end of each column, as offsets in `bytes`; both are -1 for a null. */
  readonly bounds: Int32Array
  /** The offset in `bytes` after the last record that was read. */
  readonly end: number
}

const quotationMark = 0x22
const comma = 0x2c
const closingBracket = 0x29

/**
 * Memory that all calls share for the bounds, because the number of bounds is known only after the last record. It is
 * large enough for most pages.
 */
const sharedBounds: Int32Array = new Int32Array(8192)

/**
 * Finds the columns of records.
 *
 * @param count the number of columns of each record
 * @param start the offset of the first record, in bytes
 * @param limit the maximum number of records that are read; default: all
 * @throws an Error when the last record is incomplete
 */
export function readRecordText(bytes: Buffer, count: number, start = 0, limit = Number.POSITIVE_INFINITY): RecordText {
  const { length } = bytes
  let bounds = sharedBounds
  let at = start
  let written = 0
  for (let record = 0; at < length && record < limit; record++) {
    if (written + 2 * count > bounds.length) bounds = doubleCapacity(bounds)
    at++
    for (let left = count; left > 0; left--) {
      let code = bytes[at]
      if (code === quotationMark) {
        bounds[written++] = ++at
        for (; at < length; at++) {
          if (bytes[at] !== quotationMark) continue
          if (bytes[at + 1] !== quotationMark) break
          at++
        }
        bounds[written++] = at
        at += 2
      } else if (code === comma || code === closingBracket) {
        bounds[written++] = -1
        bounds[written++] = -1
        at++
      } else {
        bounds[written++] = at
        do code = bytes[++at]
        while (code !== comma && code !== closingBracket && at < length)
        bounds[written++] = at++
      }
    }
  }
  if (at > length) throw new Error('The text of the records ends within a record.')
  return { bytes, bounds: bounds.slice(0, written), end: at }
}

function doubleCapacity(small: Int32Array): Int32Array {
  const large = new Int32Array(small.length * 2)
  large.set(small)
  return large
}
