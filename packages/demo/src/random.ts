import { type Day, type Microseconds, microsecondsPerDay, second } from './calendar.ts'

/** Returns a 32-bit hash of a 32-bit number. */
export function mix(value: number): number {
  let x = value | 0
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad)
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97)
  return (x ^ (x >>> 15)) >>> 0
}

/**
 * A pseudo-random generator with a seed: the same stream and row give the same values in the same order on every machine.
 */
export class Random {
  #state: number

  /**
   * @param stream the name of the sequence, for example `voucher`
   * @param row the row number in the stream, from 0
   */
  constructor(stream: string, row: number) {
    let seed = 0
    for (let i = 0; i < stream.length; i++) seed = mix(seed ^ stream.charCodeAt(i))
    this.#state = mix(seed ^ mix(row))
  }

  /** Returns an integer from 0 to `limit` - 1; `limit` is at most 2^53. */
  below(limit: number): number {
    this.#state = (this.#state + 0x9e3779b9) | 0
    return Math.floor((mix(this.#state) / 2 ** 32) * limit)
  }

  /** Returns an integer from `low` to `high`, both included, and `low` when `high` is below it. */
  between(low: number, high: number): number {
    return low + this.below(Math.max(0, high - low) + 1)
  }

  /** Returns true with a probability of `share` per cent. */
  percent(share: number): boolean {
    return this.below(100) < share
  }

  /** Returns an instant of a day. */
  instantOf(day: Day): Microseconds {
    return day * microsecondsPerDay + this.below(86_400) * second + this.below(second)
  }

  /** Returns an element of a list that is not empty. */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  /** Replaces each `#` of a pattern with a digit, each `@` with a capital letter and each `%` with a number up to 120. */
  fill(pattern: string): string {
    return pattern.replace(/[#@%]/g, mark => {
      if (mark === '#') return String(this.below(10))
      return mark === '@' ? 'ABDEFGHJLNPQRSTUWXYZ'.charAt(this.below(20)) : String(this.between(1, 120))
    })
  }
}
