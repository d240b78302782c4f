/** Random numbers from a seed: the same seed gives the same transactions, but not the same interleaving. */
export type Random = ReturnType<typeof createRandom>

/** Mulberry32: small, fast, and random enough to shuffle work. */
export function createRandom(seed: number) {
  let state = seed >>> 0
  /** @returns a number from 0 to below 1 */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  /** @returns a whole number from 0 to below `limit` */
  const below = (limit: number) => Math.floor(next() * limit)
  /** @returns true with this probability */
  const chance = (share: number) => next() < share
  /** @returns one of them; undefined when there is none */
  const pick = <Item>(items: readonly Item[]): Item | undefined => items[below(items.length)]
  /** @returns one of them, by their weights. There is at least one */
  const weighted = <Item>(items: readonly (readonly [weight: number, item: Item, ...rest: unknown[]])[]): Item => {
    const places = items.flatMap(([weight, item]) => Array.from({ length: weight }, () => item))
    return places[below(places.length)]!
  }
  return { next, below, chance, pick, weighted }
}
