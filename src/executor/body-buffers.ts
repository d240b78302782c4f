/** Writes JSON as bytes. Columns of lazy rows are copied from the bytes that came from PostgreSQL. */
import { type ColumnCodec, columnCodecs, maxJsonBytes } from '../db/column-codecs.ts'
import type { LazyRow } from '../db/row-codec.ts'
import type { Column } from './field-plan.ts'

/** The bytes that JSON has between values. */
export const byte = { comma: 0x2c, openingBracket: 0x5b, closingBracket: 0x5d, openingBrace: 0x7b, closingBrace: 0x7d }

/** A text that is written often, in words of four bytes. */
export interface EncodedText {
  /** In bytes. */
  readonly length: number
  readonly words: Int32Array
}

export function encodeText(text: string): EncodedText {
  const bytes = Buffer.from(text)
  const words = new Int32Array(Math.ceil(bytes.length / 4))
  Buffer.from(words.buffer).set(bytes)
  return { length: bytes.length, words }
}

const nullText = encodeText('null')
const overrun = 3

function writeText(view: DataView, to: number, { length, words }: EncodedText): number {
  for (let index = 0; index < words.length; index++) view.setInt32(to + 4 * index, words[index]!, true)
  return to + length
}

/** Memory for many bodies, which are written one after the other until it is full. */
interface Slab {
  bytes: Buffer
  view: DataView
}

const slabSize = 1 << 18

function createSlab(size: number): Slab {
  const bytes = Buffer.allocUnsafeSlow(size)
  return { bytes, view: new DataView(bytes.buffer) }
}

/** Where the next body begins: serializing is synchronous, so one body is written at a time. */
let current = createSlab(slabSize)
let used = 0

/** Writes one body. */
export class BodyWriter {
  #slab = current
  #start = used
  /** Where the next byte goes. */
  #at = used

  /** How much is written, in bytes. */
  get length(): number {
    return this.#at - this.#start
  }

  /** Removes all but the first bytes. */
  backTo(length: number): void {
    this.#at = this.#start + length
  }

  /** @returns what was written; nothing can be written any more */
  finish(): Buffer {
    if (this.#slab.bytes.length === slabSize) {
      current = this.#slab
      used = this.#at
    }
    return this.#slab.bytes.subarray(this.#start, this.#at)
  }

  byte(code: number): void {
    this.#reserve(1)
    this.#slab.bytes[this.#at++] = code
  }

  /** Ends an object whose fields were written with a comma before each. @param start where the object began */
  closeObject(start: number): void {
    if (this.length === start) this.byte(byte.openingBrace)
    else this.#slab.bytes[this.#start + start] = byte.openingBrace
    this.byte(byte.closingBrace)
  }

  text(text: EncodedText): void {
    this.#reserve(text.length + overrun)
    this.#at = writeText(this.#slab.view, this.#at, text)
  }

  null(): void {
    this.text(nullText)
  }

  /** Writes what `JSON.stringify` makes of a value. */
  value(value: unknown): void {
    const text = JSON.stringify(value) ?? 'null'
    this.#reserve(3 * text.length)
    this.#at += this.#slab.bytes.write(text, this.#at)
  }

  /**
   * Writes fields that are columns of a row, from one of them to the next field that is none.
   *
   * @returns the index of that field, or of a field that is null and may not be
   */
  columns(
    { records: { bytes: from, bounds }, first }: LazyRow,
    columns: readonly (Column | null)[],
    index: number,
  ): number {
    let { bytes, view } = this.#slab
    let to = this.#at
    for (; index < columns.length; index++) {
      const column = columns[index]!
      if (column === null) break
      const { prefix, offset } = column
      const start = bounds[first + offset]!
      const end = bounds[first + offset + 1]!
      if (start === -1) {
        if (column.nonNull) break
        if (column.omitNull) continue
      }
      const room = prefix.length + maxJsonBytes(end - start)
      if (to + room > bytes.length) {
        this.#at = to
        this.#reserve(room)
        ;({ bytes, view } = this.#slab)
        to = this.#at
      }
      to = writeText(view, to, prefix)
      to = start === -1 ? writeText(view, to, nullText) : writeColumn(column.writeJson, bytes, to, from, start, end)
    }
    this.#at = to
    return index
  }

  #reserve(count: number): void {
    const { bytes } = this.#slab
    if (this.#at + count <= bytes.length) return
    this.#slab = createSlab(Math.max(slabSize, 2 * (this.length + count)))
    bytes.copy(this.#slab.bytes, 0, this.#start, this.#at)
    this.#at = this.length
    this.#start = 0
  }
}

const { integer, decimal, boolean, text, instant, date } = columnCodecs
function writeColumn(
  writeJson: ColumnCodec['writeJson'],
  bytes: Buffer,
  to: number,
  from: Buffer,
  start: number,
  end: number,
): number {
  switch (writeJson) {
    case text.writeJson:
      return text.writeJson(bytes, to, from, start, end)
    case integer.writeJson:
      return integer.writeJson(bytes, to, from, start, end)
    case boolean.writeJson:
      return boolean.writeJson(bytes, to, from, start, end)
    case decimal.writeJson:
      return decimal.writeJson(bytes, to, from, start, end)
    case instant.writeJson:
      return instant.writeJson(bytes, to, from, start, end)
    case date.writeJson:
      return date.writeJson(bytes, to, from, start, end)
    default:
      return writeJson(bytes, to, from, start, end)
  }
}
