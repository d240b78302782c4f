import { backslash, quotationMark } from '../../db/record-text.ts'
import type { Kind } from '../../db/row-codec.ts'

/** Where is written: the same memory as bytes, and as words. */
export interface Target {
  readonly bytes: Buffer
  readonly view: DataView
}

/** A text that is written often: in UTF-8, as words of four bytes, which take less time than bytes do. */
export interface Phrase {
  /** In bytes. */
  readonly length: number
  readonly words: Int32Array
}

export function toPhrase(text: string): Phrase {
  const bytes = Buffer.from(text)
  const words = new Int32Array(Math.ceil(bytes.length / 4))
  const view = new DataView(words.buffer)
  for (const [at, byte] of bytes.entries()) view.setUint8(at, byte)
  return { length: bytes.length, words: words.map((_, index) => view.getInt32(4 * index, true)) }
}

/** By how many bytes the last word of a phrase may run over: what comes next is written over them. */
export const overrun = 3

/** What JSON writes of the bytes that stand for themselves nowhere in a string: all below the space. */
const controls = Array.from({ length: 0x20 }, (_, code) =>
  toPhrase(JSON.stringify(String.fromCharCode(code)).slice(1, -1)),
)

export const literals = { null: toPhrase('null'), true: toPhrase('true'), false: toPhrase('false') }

const letter = { t: 0x74, T: 0x54, Z: 0x5a, point: 0x2e, zero: 0x30 }

/** How many bytes a cell may take, or null, the overrun included: none of its own becomes more than six. */
export const roomFor = (length: number) => 6 * length + 32

// What follows writes where there is room enough, and returns where the next byte goes.

export function put({ view }: Target, to: number, { length, words }: Phrase): number {
  for (let index = 0; index < words.length; index++) view.setInt32(to + 4 * index, words[index]!, true)
  return to + length
}

/** The value of a cell, as `JSON.stringify` writes it. */
export function writeCell(target: Target, to: number, from: Buffer, start: number, end: number, kind: Kind): number {
  const { bytes } = target
  switch (kind) {
    case 'integer':
      return copy(bytes, to, from, start, end)
    case 'decimal':
      return copy(bytes, to, from, start, endOfDecimal(from, start, end))
    case 'json':
      return writePlain(bytes, to, from, start, end)
    case 'boolean':
      return put(target, to, from[start] === letter.t ? literals.true : literals.false)
    case 'text':
      return writeString(target, to, from, start, end)
    case 'date': {
      bytes[to++] = quotationMark
      to = copy(bytes, to, from, start, end)
      bytes[to++] = quotationMark
      return to
    }
    case 'instant':
      return writeInstant(bytes, to, from, start, end)
  }
}

function copy(bytes: Buffer, to: number, from: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) bytes[to++] = from[at]!
  return to
}

/** Where a number ends without the zeros that `numeric` keeps: 25, 25.5 (R12). */
function endOfDecimal(from: Buffer, start: number, end: number): number {
  let point = start
  while (point < end && from[point] !== letter.point) point++
  if (point === end) return end
  let last = end
  while (from[last - 1] === letter.zero) last--
  return last - 1 === point ? point : last
}

/** What stands in a cell, where quotation marks and backslashes are doubled. */
function writePlain(bytes: Buffer, to: number, from: Buffer, start: number, end: number): number {
  for (let at = start; at < end; at++) {
    const code = from[at]!
    bytes[to++] = code
    if (code === quotationMark || code === backslash) at++
  }
  return to
}

/** The string of a cell: what the cell doubles, JSON puts a backslash before. */
function writeString(target: Target, to: number, from: Buffer, start: number, end: number): number {
  const { bytes } = target
  bytes[to++] = quotationMark
  for (let at = start; at < end; at++) {
    const code = from[at]!
    if (code < 0x20) {
      to = put(target, to, controls[code]!)
    } else if (code === quotationMark || code === backslash) {
      bytes[to++] = backslash
      bytes[to++] = code
      at++
    } else {
      bytes[to++] = code
    }
  }
  bytes[to++] = quotationMark
  return to
}

/** `2026-01-02 03:04:05.12+00` as `"2026-01-02T03:04:05.120000Z"` (R13). */
function writeInstant(bytes: Buffer, to: number, from: Buffer, start: number, end: number): number {
  bytes[to++] = quotationMark
  to = copy(bytes, to, from, start, start + 10)
  bytes[to++] = letter.T
  to = copy(bytes, to, from, start + 11, start + 19)
  bytes[to++] = letter.point
  const fraction = from[start + 19] === letter.point ? end - 3 : start + 20
  to = copy(bytes, to, from, start + 20, fraction)
  for (let digits = fraction - start - 20; digits < 6; digits++) bytes[to++] = letter.zero
  bytes[to++] = letter.Z
  bytes[to++] = quotationMark
  return to
}
