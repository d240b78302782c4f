/**
 * Composite values as PostgreSQL writes them (PostgreSQL, 8.16.6), read from their bytes: in brackets, with commas
 * between the cells; a cell stands in quotation marks where it needs them, with quotation marks and backslashes
 * doubled; nothing at all stands where there is no value. Any number of them, one after the other, are told apart by
 * their brackets.
 */

/** The bytes of composite values, and where their cells are in them: start and end of each, both -1 for a null. */
export interface Composites {
  bytes: Buffer
  cells: Int32Array
}

const quotationMark = 0x22
const comma = 0x2c
const closingBracket = 0x29
const backslash = 0x5c

/** Where cells are found, before it is known how many they are. */
let found: Int32Array = new Int32Array(8192)

/** @param count how many cells each of the values has */
export function readComposites(bytes: Buffer, count: number): Composites {
  const { length } = bytes
  let at = 0
  let written = 0
  while (at < length) {
    if (written + 2 * count > found.length) found = grown(found)
    at++
    for (let left = count; left > 0; left--) {
      let start = at
      if (bytes[at] === quotationMark) {
        start = ++at
        while (bytes[at] !== quotationMark || bytes[at + 1] === quotationMark) {
          if (at >= length) throw new Error('A composite value does not end.')
          at += bytes[at] === quotationMark ? 2 : 1
        }
        found[written++] = start
        found[written++] = at++
      } else {
        while (bytes[at] !== comma && bytes[at] !== closingBracket && at < length) at++
        found[written++] = start === at ? -1 : start
        found[written++] = start === at ? -1 : at
      }
      at++
    }
  }
  return { bytes, cells: found.slice(0, written) }
}

function grown(small: Int32Array): Int32Array {
  const large = new Int32Array(small.length * 2)
  large.set(small)
  return large
}

/** @returns the text of a cell that lies between these places */
export function textOf(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end)
  return text.includes('"') || text.includes('\\') ? text.replace(/""|\\\\/g, pair => pair.charAt(0)) : text
}

export { backslash, quotationMark }
