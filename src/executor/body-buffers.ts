/**
 * Writes JSON as bytes. Writes bodies as bytes. Columns of lazy rows are copied from the bytes that PostgreSQL sent.
 */
import { maxJsonBytes } from '../db/row/column-codecs.ts'
import type { LazyRow } from '../db/row/row-codec.ts'
import type { ColumnField } from './field-plan.ts'

/** The bytes of the punctuation of JSON. */
export const byte = { comma: 0x2c, openingBracket: 0x5b, closingBracket: 0x5d, openingBrace: 0x7b, closingBrace: 0x7d }

const nullText = Buffer.from('null')

const scratchSize = 1 << 18

/**
 * The memory in which bodies are written. All bodies share it, because serializing is synchronous, so that only one
 * body is written at a time.
 */
let scratch = Buffer.allocUnsafeSlow(scratchSize)

/** Writes one body. */
export class BodyWriter {
  /** The length of the written text, in bytes. */
  #length = 0

  get length(): number {
    return this.#length
  }

  /** Removes all bytes after the first `length` bytes. */
  backTo(length: number): void {
    this.#length = length
  }

  /** Returns a copy of the written bytes. */
  finish(): Buffer {
    const body = Buffer.allocUnsafe(this.#length)
    scratch.copy(body, 0, 0, this.#length)
    if (scratch.length > scratchSize) scratch = Buffer.allocUnsafeSlow(scratchSize)
    return body
  }

  byte(code: number): void {
    this.#reserve(1)
    scratch[this.#length++] = code
  }

  /**
   * Ends an object. Each of its fields was written with a comma in front, so the first comma becomes the opening brace.
   *
   * @param start the place at which the object begins
   */
  closeObject(start: number): void {
    if (this.#length === start) this.byte(byte.openingBrace)
    else scratch[start] = byte.openingBrace
    this.byte(byte.closingBrace)
  }

  text(text: Buffer): void {
    this.#reserve(text.length)
    scratch.set(text, this.#length)
    this.#length += text.length
  }

  null(): void {
    this.text(nullText)
  }

  /** Writes a value as `JSON.stringify` does. */
  value(value: unknown): void {
    const text = JSON.stringify(value) ?? 'null'
    this.#reserve(3 * text.length)
    this.#length += scratch.write(text, this.#length)
  }

  /**
   * Writes consecutive fields that are columns of a row.
   *
   * @returns the index of the first field that cannot be written here, because it is not a column, or because it is
   *   non-null and its column is null
   */
  columns({ records, first }: LazyRow, columns: readonly (ColumnField | null)[], index: number): number {
    const { bytes, bounds } = records
    let to = this.#length
    for (; index < columns.length; index++) {
      const column = columns[index]!
      if (column === null) break
      const { prefix, offset, writeJson } = column
      const start = bounds[first + offset]!
      const end = bounds[first + offset + 1]!
      if (start === -1) {
        if (column.nonNull) break
        if (column.omitNull) continue
      }
      const room = prefix.length + maxJsonBytes(end - start)
      if (to + room > scratch.length) {
        this.#length = to
        this.#reserve(room)
      }
      scratch.set(prefix, to)
      to += prefix.length
      if (start === -1) scratch.set(nullText, to)
      to = start === -1 ? to + nullText.length : writeJson(scratch, to, bytes, start, end)
    }
    this.#length = to
    return index
  }

  #reserve(count: number): void {
    if (this.#length + count <= scratch.length) return
    const grown = Buffer.allocUnsafeSlow(2 * (this.#length + count))
    scratch.copy(grown, 0, 0, this.#length)
    scratch = grown
  }
}
