/**
 * Finds the columns in records as PostgreSQL writes them (PostgreSQL, 8.16.6): in brackets, with commas between the
 * columns. A column that needs quotation marks has them, and its own quotation marks and backslashes are doubled; a
 * null is empty. Any number of records follow each other without a separator.
 */

/** The bytes of records, and where their columns are. */
export interface RecordText {
  readonly bytes: Buffer
  /** Start and end of each column, in bytes; both are -1 for a null. */
  readonly bounds: Int32Array
  /** The end of the last of these records, in bytes. */
  readonly end: number
}

const quotationMark = 0x22
const comma = 0x2c
const closingBracket = 0x29

/** Memory for the bounds of most pages, whose number is known only at the end. */
const sharedBounds: Int32Array = new Int32Array(8192)

/**
 * Finds the columns of records.
 *
 * @param count the number of columns of each record
 * @param start the place of the first record, in bytes
 * @param limit the maximum number of records that are read; default: all
 * @throws when the last record does not end
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
