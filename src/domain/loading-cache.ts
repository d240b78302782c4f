import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'

/** Finds what is asked for, many at once, and knows it for a while: a busy integration asks the same at every page. */
export interface LoadingCache<Key, Value> {
  /** @returns undefined when it has to be looked up */
  peek(key: Key): Value | undefined
  /**
   * Looks it up, with others who look for the same at that time. What is there is known from then on. A null and a failure
   * are not: what is made or mended now is there at the next request.
   *
   * @returns null when there is no such thing; fails as the look-up does
   */
  load(key: Key): Promise<Value | null>
  /** The same, by a look-up that begins after the call. */
  reload(key: Key): Promise<Value | null>
}

/**
 * @param find finds each of many, in order; null for what is not there
 * @param lifetime how long what was found may be out of date, in milliseconds
 */
export function createLoadingCache<Key extends string | number, Value extends object>(
  find: (keys: readonly Key[]) => Promise<(Value | null)[]>,
  lifetime: number,
): LoadingCache<Key, Value> {
  const known = new LRUCache<Key, Value>({ max: 10_000, ttl: lifetime })
  // Nobody joins a look-up that began longer ago: what it will find is too old, and it may be lost.
  const underWay = new LRUCache<Key, Promise<Value | null>>({ max: 10_000, ttl: lifetime })
  const loader = new DataLoader<Key, Value | null>(
    async keys => {
      const start = performance.now()
      try {
        const found = await find(keys)
        for (const [index, key] of keys.entries()) known.set(key, found[index] ?? undefined, { start })
        return found
      } finally {
        for (const key of keys) loader.clear(key)
      }
    },
    { cacheMap: underWay },
  )
  return {
    peek: key => known.get(key),
    // The loader would make who joins a look-up wait for its next batch as well.
    load: key => underWay.get(key) ?? loader.load(key),
    reload: key => loader.clear(key).load(key),
  }
}
