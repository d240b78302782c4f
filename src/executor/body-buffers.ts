/** Writes JSON as bytes. Columns of lazy rows are copied from the bytes that came from PostgreSQL. */
import { type ColumnCodec, maxJsonBytes } from '../db/column-codecs.ts'

const byte = {
  comma: 0x2c,
  openingBracket: 0x5b,
  closingBracket: 0x5d,
  openingBrace: 0x7b,
  closingBrace: 0x7d,
} as const

export { byte }

const nullText = Buffer.from('null')

/** From this length on, in characters, Node's own call is faster than a loop. */
const shortText = 40

/** Memory for the body that is being written: serializing is synchronous, so there is one at a time. */
let scratch = Buffer.allocUnsafeSlow(1 << 18)

/** Writes one body. */
export class BodyWriter {
  #bytes = scratch
  /** How much is written, in bytes. */
  length = 0

  /** Removes all but the first bytes. */
  backTo(length: number): void {
    this.length = length
  }

  /** @returns a copy of what was written */
  finish(): Buffer {
    const body = Buffer.allocUnsafeSlow(this.length)
    this.#bytes.copy(body, 0, 0, this.length)
    return body
  }

  byte(code: number): void {
    this.#reserve(1)
    this.#bytes[this.length++] = code
  }

  text(text: Buffer): void {
    this.#reserve(text.length)
    const bytes = this.#bytes
    let to = this.length
    for (let at = 0; at < text.length; at++) bytes[to++] = text[at]!
    this.length = to
  }

  null(): void {
    this.text(nullText)
  }

  /** Writes what `JSON.stringify` makes of a value. */
  value(value: unknown): void {
    const text = JSON.stringify(value) ?? 'null'
    this.#reserve(3 * text.length)
    const bytes = this.#bytes
    if (text.length >= shortText) {
      this.length += bytes.write(text, this.length)
      return
    }
    const start = this.length
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index)
      if (code > 0x7f) {
        this.length = start + bytes.write(text, start)
        return
      }
      bytes[this.length++] = code
    }
  }

  /** Writes a column that is not null. */
  column(codec: ColumnCodec, from: Buffer, start: number, end: number): void {
    this.#reserve(maxJsonBytes(end - start))
    this.length = codec.writeJson(this.#bytes, this.length, from, start, end)
  }

  #reserve(count: number): void {
    if (this.length + count <= this.#bytes.length) return
    const larger = Buffer.allocUnsafeSlow(2 * (this.length + count))
    this.#bytes.copy(larger, 0, 0, this.length)
    this.#bytes = larger
    scratch = larger
  }
}
