import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'

/** Finds what is asked for, many at once, and knows it for a while: a busy integration asks the same at every page. */
export interface LoadingCache<Key, Value> {
  /** Whether it is known, or being looked for. */
  has(key: Key): boolean
  /** @returns null when there is no such thing: that is not kept, so what is made now is there at the next request */
  get(key: Key): Promise<Value | null>
}

/**
 * @param find finds each of many, in order; null for what is not there
 * @param lifetime how long what was found may be out of date, in milliseconds
 */
export function createLoadingCache<Key extends string | number, Value>(
  find: (keys: readonly Key[]) => Promise<(Value | null)[]>,
  lifetime: number,
): LoadingCache<Key, Value> {
  const known = new LRUCache<Key, Promise<Value | null>>({ max: 10_000, ttl: lifetime })
  const loader = new DataLoader<Key, Value | null>(
    async keys => {
      const found = await find(keys)
      for (const [index, key] of keys.entries()) if (!found[index]) loader.clear(key)
      return found
    },
    { cacheMap: known },
  )
  return {
    has: key => known.has(key),
    // The loader would give what is known only with its next batch.
    get: key => known.get(key) ?? loader.load(key),
  }
}
