import { type Day, type Microseconds, microsecondsPerDay, microsecondsPerSecond } from './calendar.ts'

/** Returns a 32-bit hash of a 32-bit number. */
export function hash32(value: number): number {
  let x = value | 0
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad)
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97)
  return (x ^ (x >>> 15)) >>> 0
}

/** A pseudo-random generator with a seed. The same stream and row give the same sequence of values on every machine. */
export class Random {
  #state: number

  /**
   * @param stream the name of the sequence, for example `voucher`
   * @param row the row number in the stream, from 0
   */
  constructor(stream: string, row: number) {
    let seed = 0
    for (let i = 0; i < stream.length; i++) seed = hash32(seed ^ stream.charCodeAt(i))
    this.#state = hash32(seed ^ hash32(row))
  }

  /** Returns an integer from 0 to `limit` - 1; `limit` is at most 2^53. */
  below(limit: number): number {
    this.#state = (this.#state + 0x9e3779b9) | 0
    return Math.floor((hash32(this.#state) / 2 ** 32) * limit)
  }

  /** Returns an integer from `low` to `high`, both included, and `low` when `high` is below it. */
  between(low: number, high: number): number {
    return low + this.below(Math.max(0, high - low) + 1)
  }

  /** Returns true with a probability of `share` per cent. */
  percent(share: number): boolean {
    return this.below(100) < share
  }

  /** Returns a random instant of a day. */
  instantOf(day: Day): Microseconds {
    return day * microsecondsPerDay + this.below(86_400) * microsecondsPerSecond + this.below(microsecondsPerSecond)
  }

  /** Returns a random element of a list, which must not be empty. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  /**
   * Replaces each `#` of a pattern with a random digit, each `@` with a random capital letter, and each `%` with a
   * random number up to 120.
   */
  fill(pattern: string): string {
    return pattern.replace(/[#@%]/g, mark => {
      if (mark === '#') return String(this.below(10))
      return mark === '@' ? 'ABDEFGHJLNPQRSTUWXYZ'.charAt(this.below(20)) : String(this.between(1, 120))
    })
  }
}
