/** Writes JSON as bytes. Columns of lazy rows are copied from the bytes that came from PostgreSQL. */
import { columnCodecs, maxJsonBytes } from '../db/column-codecs.ts'
import type { LazyRow } from '../db/row-codec.ts'
import type { Column } from './field-plan.ts'

/** The bytes that JSON has between values. */
export const byte = { comma: 0x2c, openingBracket: 0x5b, closingBracket: 0x5d, openingBrace: 0x7b, closingBrace: 0x7d }

/** A text that is written often, as words of four bytes: as bytes a page of vouchers costs up to 6 % more. */
export interface EncodedText {
  /** In bytes. */
  readonly length: number
  readonly words: Int32Array
}

/** Encodes a text in UTF-8. */
export function encodeText(text: string): EncodedText {
  const bytes = Buffer.from(text)
  const words = new Int32Array(Math.ceil(bytes.length / 4))
  Buffer.from(words.buffer).set(bytes)
  return { length: bytes.length, words }
}

const nullText = encodeText('null')

/** By how many bytes the last word of a text can be too long: what follows is written over them. */
const overrun = 3

function writeText(view: DataView, to: number, { length, words }: EncodedText): number {
  for (let index = 0; index < words.length; index++) view.setInt32(to + 4 * index, words[index]!, true)
  return to + length
}

const { writeJson: writeTextJson } = columnCodecs.text
const { writeJson: writeIntegerJson } = columnCodecs.integer
const { writeJson: writeInstantJson } = columnCodecs.instant

const slabSize = 1 << 18
const createSlab = (bytes: Buffer) => ({ bytes, view: new DataView(bytes.buffer) })

/**
 * Memory for many bodies, one after the other: with memory for each a page of vouchers costs 5 % more. Serializing is
 * synchronous, so one body is written at a time.
 */
let current = createSlab(Buffer.allocUnsafeSlow(slabSize))
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

  /** Writes one byte. */
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

  /** Writes encoded text. */
  text(text: EncodedText): void {
    this.#reserve(text.length + overrun)
    this.#at = writeText(this.#slab.view, this.#at, text)
  }

  /** Writes a null. */
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
  columns({ records, first }: LazyRow, columns: readonly (Column | null)[], index: number): number {
    const { bytes: from, bounds } = records
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
      const { writeJson } = column
      // V8 inlines calls that name their function.
      if (start === -1) to = writeText(view, to, nullText)
      else if (writeJson === writeTextJson) to = writeTextJson(bytes, to, from, start, end)
      else if (writeJson === writeIntegerJson) to = writeIntegerJson(bytes, to, from, start, end)
      else if (writeJson === writeInstantJson) to = writeInstantJson(bytes, to, from, start, end)
      else to = writeJson(bytes, to, from, start, end)
    }
    this.#at = to
    return index
  }

  #reserve(count: number): void {
    const { bytes } = this.#slab
    if (this.#at + count <= bytes.length) return
    this.#slab = createSlab(Buffer.allocUnsafeSlow(Math.max(slabSize, 2 * (this.length + count))))
    bytes.copy(this.#slab.bytes, 0, this.#start, this.#at)
    this.#at = this.length
    this.#start = 0
  }
}
