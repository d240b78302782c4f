/** A well-mixed 32-bit number for a 32-bit number. */
export function mix(value: number): number {
  let x = value | 0
  x = Math.imul(x ^ (x >>> 16), 0x21f0aaad)
  x = Math.imul(x ^ (x >>> 15), 0x735a2d97)
  return (x ^ (x >>> 15)) >>> 0
}

/**
 * Draws that look random and are a pure function of what is drawn for: the same stream and row give the same draws, in
 * the same order, on every machine.
 */
export class Draw {
  #state: number

  /**
   * @param stream what is drawn for: `voucher`
   * @param row the number of the row in its stream, from 0
   */
  constructor(stream: string, row: number) {
    let seed = 0
    for (let i = 0; i < stream.length; i++) seed = mix(seed ^ stream.charCodeAt(i))
    this.#state = mix(seed ^ mix(row))
  }

  /** @returns an integer from 0 up to, but without, `limit` (at most 2^53) */
  below(limit: number): number {
    this.#state = (this.#state + 0x9e3779b9) | 0
    return Math.floor((mix(this.#state) / 2 ** 32) * limit)
  }

  /** @returns an integer from `low` to `high`, both included; `low` when there is nothing between */
  between(low: number, high: number): number {
    return low + this.below(Math.max(0, high - low) + 1)
  }

  /** @returns true in that many of a hundred cases */
  percent(share: number): boolean {
    return this.below(100) < share
  }

  /** @param list has at least one element */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }

  /** @returns the pattern with a digit for each `#`, a capital for each `@` and a number up to 120 for each `%` */
  fill(pattern: string): string {
    return pattern.replace(/[#@%]/g, mark => {
      if (mark === '#') return String(this.below(10))
      return mark === '@' ? 'ABDEFGHJLNPQRSTUWXYZ'.charAt(this.below(20)) : String(this.between(1, 120))
    })
  }
}
