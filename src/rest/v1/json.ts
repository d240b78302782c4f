import { backslash, type Composites, quotationMark } from '../../db/composite.ts'
import type { Kind } from '../../db/packed.ts'

/** What JSON writes of the bytes that stand for themselves nowhere in a string: all below the space. */
const controls = Array.from({ length: 0x20 }, (_, code) =>
  toBytes(JSON.stringify(String.fromCharCode(code)).slice(1, -1)),
)

const literals = { null: toBytes('null'), true: toBytes('true'), false: toBytes('false') }

const letter = { t: 0x74, T: 0x54, Z: 0x5a, point: 0x2e, zero: 0x30 }

export const [comma, openingBracket, closingBracket, openingBrace, closingBrace] = [
  0x2c, 0x5b, 0x5d, 0x7b, 0x7d,
] as const

/** @returns the text in UTF-8 */
export function toBytes(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text))
}

/** The native call that writes a text is worth it from so many characters on. */
const shortText = 40

/**
 * Bodies are written into one memory, one after the other, until it is full: to ask for memory costs more than to fill
 * it. It is let go when the last of its bodies is sent. One that is longer has memory of its own.
 */
const slabSize = 1 << 18
let slab = Buffer.allocUnsafeSlow(slabSize)
/** How much of it is used. */
let used = 0

/** Writes JSON text as bytes, in UTF-8. Cells of packed rows go in as they came, without becoming text in between. */
export class JsonWriter {
  #bytes = slab
  #start = used
  /** Where the next byte goes. */
  #at = used

  /** How much is written, in bytes. */
  get length(): number {
    return this.#at - this.#start
  }

  /** Takes back all but so many bytes. */
  backTo(length: number): void {
    this.#at = this.#start + length
  }

  /** @returns what was written; nothing can be written any more */
  take(): Buffer {
    if (this.#bytes.length === slabSize) {
      slab = this.#bytes
      used = this.#at
    }
    return this.#bytes.subarray(this.#start, this.#at)
  }

  byte(code: number): void {
    this.#reserve(1)
    this.#bytes[this.#at++] = code
  }

  /** Writes bytes as they are. */
  plain(text: Uint8Array): void {
    this.#reserve(text.length)
    this.#bytes.set(text, this.#at)
    this.#at += text.length
  }

  /** @returns whether there is a value: what JSON has no text for is a null */
  value(value: unknown): boolean {
    const text = JSON.stringify(value) ?? 'null'
    this.#reserve(3 * text.length)
    if (text.length < shortText) {
      const start = this.#at
      for (let index = 0; index < text.length; index++) {
        const code = text.charCodeAt(index)
        if (code > 0x7f) {
          this.#at = start + this.#bytes.write(text, start)
          return true
        }
        this.#bytes[this.#at++] = code
      }
    } else {
      this.#at += this.#bytes.write(text, this.#at)
    }
    return text !== 'null'
  }

  /** Writes a null. */
  null(): false {
    this.plain(literals.null)
    return false
  }

  /**
   * Writes the value of a cell, as `JSON.stringify` writes it.
   *
   * @returns whether there is one: a null is written as such
   */
  cell({ bytes, cells }: Composites, at: number, kind: Kind): boolean {
    const start = cells[at]!
    if (start === -1) return this.null()
    const end = cells[at + 1]!
    // No byte of a cell becomes more than six.
    this.#reserve(6 * (end - start) + 32)
    switch (kind) {
      case 'integer':
        this.#copy(bytes, start, end)
        break
      case 'decimal':
        this.#decimal(bytes, start, end)
        break
      case 'json':
        this.#copyPlain(bytes, start, end)
        break
      case 'boolean':
        this.plain(bytes[start] === letter.t ? literals.true : literals.false)
        break
      case 'text':
        this.#string(bytes, start, end)
        break
      case 'date':
        this.#bytes[this.#at++] = quotationMark
        this.#copy(bytes, start, end)
        this.#bytes[this.#at++] = quotationMark
        break
      case 'instant':
        this.#instant(bytes, start, end)
        break
    }
    return true
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#bytes.length) return
    const written = this.#bytes.subarray(this.#start, this.#at)
    this.#bytes = Buffer.allocUnsafeSlow(Math.max(slabSize, 2 * (written.length + count)))
    this.#bytes.set(written)
    this.#start = 0
    this.#at = written.length
  }

  #copy(from: Buffer, start: number, end: number): void {
    const bytes = this.#bytes
    let to = this.#at
    for (let at = start; at < end; at++) bytes[to++] = from[at]!
    this.#at = to
  }

  /** A number without the zeros at its end that `numeric` keeps: 25, 25.5 (R12). */
  #decimal(from: Buffer, start: number, end: number): void {
    let point = start
    while (point < end && from[point] !== letter.point) point++
    let last = end
    if (point < end) {
      while (from[last - 1] === letter.zero) last--
      if (last - 1 === point) last--
    }
    this.#copy(from, start, last)
  }

  /** Copies what stands in a cell, where quotation marks and backslashes are doubled. */
  #copyPlain(from: Buffer, start: number, end: number): void {
    const bytes = this.#bytes
    let to = this.#at
    for (let at = start; at < end; at++) {
      const code = from[at]!
      bytes[to++] = code
      if (code === quotationMark || code === backslash) at++
    }
    this.#at = to
  }

  /** The string of a cell: what the cell doubles, JSON puts a backslash before. */
  #string(from: Buffer, start: number, end: number): void {
    const bytes = this.#bytes
    let to = this.#at
    bytes[to++] = quotationMark
    for (let at = start; at < end; at++) {
      const code = from[at]!
      if (code < 0x20) {
        for (const part of controls[code]!) bytes[to++] = part
      } else if (code === quotationMark || code === backslash) {
        bytes[to++] = backslash
        bytes[to++] = code
        at++
      } else {
        bytes[to++] = code
      }
    }
    bytes[to++] = quotationMark
    this.#at = to
  }

  /** `2026-01-02 03:04:05.12+00` as `"2026-01-02T03:04:05.120000Z"` (R13). */
  #instant(from: Buffer, start: number, end: number): void {
    const bytes = this.#bytes
    let to = this.#at
    bytes[to++] = quotationMark
    for (let at = start; at < start + 10; at++) bytes[to++] = from[at]!
    bytes[to++] = letter.T
    for (let at = start + 11; at < start + 19; at++) bytes[to++] = from[at]!
    bytes[to++] = letter.point
    let digits = 6
    const fraction = from[start + 19] === letter.point ? end - 3 : 0
    for (let at = start + 20; at < fraction; at++, digits--) bytes[to++] = from[at]!
    for (; digits > 0; digits--) bytes[to++] = letter.zero
    bytes[to++] = letter.Z
    bytes[to++] = quotationMark
    this.#at = to
  }
}
