/** Numbers that look random and are the same in every run (a linear congruential generator). */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed
  }

  /** @returns an integer from 0 up to, but without, `limit` */
  below(limit: number): number {
    this.#state = (this.#state * 1664525 + 1013904223) % 4294967296
    return Math.floor((this.#state / 4294967296) * limit)
  }

  /** @param list has at least one element */
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!
  }
}
