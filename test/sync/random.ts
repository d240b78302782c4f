/** Random numbers from a seed. The same seed gives the same transactions, but not the same order of concurrent ones. */
export type Random = ReturnType<typeof createRandom>

/** Creates a generator of the algorithm Mulberry32, which is random enough to shuffle work. */
export function createRandom(seed: number) {
  let state = seed >>> 0
  /** Returns a number from 0 to below 1. */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  /** Returns a whole number from 0 to below `limit`. */
  const below = (limit: number) => Math.floor(next() * limit)
  /** Returns true with this probability. */
  const chance = (share: number) => next() < share
  /** Returns one of the items; undefined for an empty list. */
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[below(items.length)]
  /** Returns one of the items, with a probability by weight. The list must not be empty. */
  const weighted = <Item>(items: readonly (readonly [weight: number, item: Item, ...rest: unknown[]])[]): Item => {
    const places = items.flatMap(([weight, item]) => Array.from({ length: weight }, () => item))
    return places[below(places.length)]!
  }
  return { next, below, chance, pick, weighted }
}
