/**
 * Composite values as PostgreSQL writes them (PostgreSQL, 8.16.6), read from their bytes: in brackets, with commas
 * between the cells; a cell stands in quotation marks where it needs them, with quotation marks and backslashes
 * doubled; nothing at all stands where there is no value. Any number of them, one after the other, are told apart by
 * their brackets.
 */

/** How many texts are made of their own bytes, before one is made of all bytes for those that follow. */
const fewCuts = 6

/** The bytes of composite values, and where their cells are in them. */
export class RecordText {
  readonly bytes: Buffer
  /** Start and end of each cell, both -1 for a null. */
  readonly cells: Int32Array
  #cuts = 0
  #characters = ''

  constructor(bytes: Buffer, cells: Int32Array) {
    this.bytes = bytes
    this.cells = cells
  }

  /** @returns the bytes between these places, a character each */
  cut(start: number, end: number): string {
    // To cut a text takes far less time than to make one of bytes; but who asks for a cursor alone asks twice.
    if (this.#cuts < fewCuts) {
      this.#cuts++
      return this.bytes.toString('latin1', start, end)
    }
    this.#characters ||= this.bytes.toString('latin1')
    return this.#characters.slice(start, end)
  }
}

export const quotationMark = 0x22
const comma = 0x2c
const closingBracket = 0x29
export const backslash = 0x5c
const minus = 0x2d
const point = 0x2e
const zero = 0x30

/** Where cells are found, before it is known how many they are: room for what most pages have. */
const room: Int32Array = new Int32Array(8192)

/**
 * @param count how many cells each of the values has
 * @throws when the bytes are no such values
 */
export function readRecordText(bytes: Buffer, count: number): RecordText {
  const { length } = bytes
  let found = room
  let at = 0
  let written = 0
  while (at < length) {
    if (written + 2 * count > found.length) found = grown(found)
    at++
    for (let left = count; left > 0; left--) {
      let code = bytes[at]
      if (code === quotationMark) {
        found[written++] = ++at
        for (; at < length; at++) {
          if (bytes[at] !== quotationMark) continue
          if (bytes[at + 1] !== quotationMark) break
          at++
        }
        found[written++] = at
        at += 2
      } else if (code === comma || code === closingBracket) {
        found[written++] = -1
        found[written++] = -1
        at++
      } else {
        found[written++] = at
        do code = bytes[++at]
        while (code !== comma && code !== closingBracket && at < length)
        found[written++] = at++
      }
    }
  }
  if (at > length) throw new Error('A composite value does not end.')
  return new RecordText(bytes, found.slice(0, written))
}

function grown(small: Int32Array): Int32Array {
  const large = new Int32Array(small.length * 2)
  large.set(small)
  return large
}

/** @returns the number in a cell that lies between these places: what `Number` makes of its text */
export function numberOf(all: RecordText, start: number, end: number): number {
  // Two whole numbers that are exact make one quotient that is rounded once.
  if (end - start > 15) return Number(all.cut(start, end))
  const { bytes } = all
  const negative = bytes[start] === minus
  let digits = 0
  let scale = 1
  let whole = true
  for (let at = negative ? start + 1 : start; at < end; at++) {
    const code = bytes[at] ?? 0
    if (code === point) {
      whole = false
    } else {
      digits = digits * 10 + (code - zero)
      if (!whole) scale *= 10
    }
  }
  return (negative ? -digits : digits) / scale
}

/** What is not the same as text and as bytes in a cell. */
const special = /["\\\x80-\xff]/

/** @returns the text of a cell that lies between these places */
export function textOf(all: RecordText, start: number, end: number): string {
  const plain = all.cut(start, end)
  if (!special.test(plain)) return plain
  return all.bytes.toString('utf8', start, end).replace(/""|\\\\/g, pair => pair.charAt(0))
}
