/** Random numbers from a seed: the same seed gives the same transactions, but not the same interleaving. */
export interface Random {
  /** @returns a number from 0 to below 1 */
  next(): number
  /** @returns a whole number from 0 to below `limit` */
  below(limit: number): number
  /** @returns true with this probability */
  chance(share: number): boolean
  /** @returns one of them; undefined when there is none */
  pick<Item>(items: readonly Item[]): Item | undefined
}

/** Mulberry32: small, fast, and random enough to shuffle work. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (limit: number) => Math.floor(next() * limit)
  return { next, below, chance: share => next() < share, pick: items => items[below(items.length)] }
}
