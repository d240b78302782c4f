import { GraphQLError } from 'graphql'
import { type ColumnCodec, maxJsonBytes } from '../../db/column-codecs.ts'
import type { RecordText } from '../../db/record-text.ts'
import { literals, overrun, type Phrase, put, type Target } from './cell.ts'

export const [comma, openingBracket, closingBracket, openingBrace, closingBrace] = [
  0x2c, 0x5b, 0x5d, 0x7b, 0x7d,
] as const

/** The native call that writes a text is worth it from so many characters on. */
const shortText = 40

const slabSize = 1 << 18

function createTarget(size: number): Target {
  const bytes = Buffer.allocUnsafeSlow(size)
  return { bytes, view: new DataView(bytes.buffer) }
}

/**
 * Memory for many bodies, which are written one after the other until it is full. It is used anew when all of them have
 * been given back: memory that comes and goes beside its heap makes V8 collect all of the heap again and again.
 */
class Slab {
  readonly target = createTarget(slabSize)
  used = 0
  /** How many bodies in it were not given back. */
  bodies = 0
}

/** Slabs by their memory. */
const slabs = new WeakMap<ArrayBufferLike, Slab>()

/** How many are kept of those that nobody uses. */
const mostFree = 16
const free: Slab[] = []

function takeSlab(): Slab {
  const known = free.pop()
  if (known) return known
  const made = new Slab()
  slabs.set(made.target.bytes.buffer, made)
  return made
}

/** The one in which the next body begins. */
let current = takeSlab()

/**
 * Gives the memory of a body back, once, when nobody will look at it any more. The slab of one that is not given back is
 * let go like any object.
 */
export function giveBack(body: Buffer): void {
  const slab = slabs.get(body.buffer)
  if (!slab) return
  slab.bodies--
  if (slab.bodies > 0) return
  slab.used = 0
  if (slab !== current && free.length < mostFree) free.push(slab)
}

/** A member of an object, as it is written. */
export interface MemberForm {
  /** Its key in the answer, as JSON writes it before the first value of an object, and before those that follow. */
  opening: Phrase
  following: Phrase
  /** Whether the key is left out when there is no value (R11). */
  omitted: boolean
  /** What is said when there is no value, though the schema promises one; null: it does not. */
  nullFault: string | null
}

/** A member that is a column of a lazy row: where its bounds are after the row's first, and its codec. */
export interface Member extends MemberForm {
  offset: number
  codec: ColumnCodec
}

/** Writes JSON text as bytes, in UTF-8. Cells of packed rows go in as they came, without becoming text in between. */
export class JsonWriter {
  /** Null: what is written has become longer than a slab. */
  #slab: Slab | null = current
  #target = current.target
  #start = current.used
  /** Where the next byte goes. */
  #at = current.used

  /** How much is written, in bytes. */
  get length(): number {
    return this.#at - this.#start
  }

  /** Takes back all but so many bytes. */
  backTo(length: number): void {
    this.#at = this.#start + length
  }

  /** @returns what was written, to be given back; nothing can be written any more */
  take(): Buffer {
    if (this.#slab) {
      current = this.#slab
      current.used = this.#at
      current.bodies++
    }
    return this.#target.bytes.subarray(this.#start, this.#at)
  }

  byte(code: number): void {
    this.#reserve(1)
    this.#target.bytes[this.#at++] = code
  }

  phrase(text: Phrase): void {
    this.#reserve(text.length + overrun)
    this.#at = put(this.#target, this.#at, text)
  }

  /** @returns whether there is a value: what JSON has no text for is a null */
  value(value: unknown): boolean {
    const text = JSON.stringify(value) ?? 'null'
    this.#reserve(3 * text.length)
    const { bytes } = this.#target
    if (text.length < shortText) {
      const start = this.#at
      for (let index = 0; index < text.length; index++) {
        const code = text.charCodeAt(index)
        if (code > 0x7f) {
          this.#at = start + bytes.write(text, start)
          return true
        }
        bytes[this.#at++] = code
      }
    } else {
      this.#at += bytes.write(text, this.#at)
    }
    return text !== 'null'
  }

  /** Writes a null. */
  null(): false {
    this.phrase(literals.null)
    return false
  }

  /**
   * Writes the value of a cell, as `JSON.stringify` writes it.
   *
   * @returns whether there is one: a null is written as such
   */
  cell({ bytes, bounds }: RecordText, at: number, codec: ColumnCodec): boolean {
    const start = bounds[at]!
    if (start === -1) return this.null()
    const end = bounds[at + 1]!
    this.#reserve(maxJsonBytes(end - start))
    this.#at = codec.writeJson(this.#target.bytes, this.#at, bytes, start, end)
    return true
  }

  /**
   * Writes an object of which every member is a cell of one packed row.
   *
   * @param first where the row's cells begin
   * @throws `nullFault` of a member without a value
   */
  row({ bytes: from, bounds }: RecordText, first: number, members: readonly Member[]): void {
    let target = this.#target
    let to = this.#at
    let empty = true
    for (let index = 0; index < members.length; index++) {
      const { opening, following, offset, codec, omitted, nullFault } = members[index]!
      const start = bounds[first + offset]!
      const end = bounds[first + offset + 1]!
      if (start === -1) {
        if (nullFault !== null) throw new GraphQLError(nullFault)
        if (omitted) continue
      }
      const key = empty ? opening : following
      empty = false
      if (to + key.length + overrun + maxJsonBytes(end - start) > target.bytes.length) {
        this.#at = to
        this.#reserve(key.length + overrun + maxJsonBytes(end - start))
        target = this.#target
        to = this.#at
      }
      to = put(target, to, key)
      to = start === -1 ? put(target, to, literals.null) : codec.writeJson(target.bytes, to, from, start, end)
    }
    this.#at = to
    if (empty) this.byte(openingBrace)
    this.byte(closingBrace)
  }

  #reserve(count: number): void {
    if (this.#at + count <= this.#target.bytes.length) return
    const written = this.#target.bytes.subarray(this.#start, this.#at)
    const wanted = 2 * (written.length + count)
    this.#slab = wanted > slabSize ? null : takeSlab()
    this.#target = this.#slab?.target ?? createTarget(wanted)
    this.#target.bytes.set(written)
    this.#start = 0
    this.#at = written.length
  }
}
