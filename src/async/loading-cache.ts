import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'

/**
 * Loads values by key, in batches, and caches the values for a limited time, because an integration often sends the
 * same keys.
 *
 * @param loadMany loads the value of each key, in the order of the keys; null for a key without a value
 * @param lifetime the maximum age of a cached value, in milliseconds
 */
export function createLoadingCache<Key extends string | number, Value extends object>(
  loadMany: (keys: readonly Key[]) => Promise<(Value | null)[]>,
  lifetime: number,
) {
  const cached = new LRUCache<Key, Value>({ max: 10_000, ttl: lifetime })
  // After this time, callers no longer join the load: the value would be too old, and the promise may never settle.
  const loading = new LRUCache<Key, Promise<Value | null>>({ max: 10_000, ttl: lifetime })
  const loader = new DataLoader<Key, Value | null>(
    async keys => {
      const start = performance.now()
      try {
        const values = await loadMany(keys)
        for (const [index, key] of keys.entries()) cached.set(key, values[index] ?? undefined, { start })
        return values
      } finally {
        for (const key of keys) loader.clear(key)
      }
    },
    { cacheMap: loading },
  )
  return {
    /** Returns the cached value, or undefined when the value must be loaded. */
    peek: (key: Key): Value | undefined => cached.get(key),
    /**
     * Loads a value in one batch with other concurrent loads, and joins a running load of the same key. Null (the key
     * has no value) and failures are not cached, so the next request finds a value that has been added since.
     */
    load(key: Key): Promise<Value | null> {
      // Without this line, DataLoader would delay the result of a joined load until the next batch.
      return loading.get(key) ?? loader.load(key)
    },
    /** Loads a value, without the cache, by a query that starts after the call. */
    reload: (key: Key): Promise<Value | null> => loader.clear(key).load(key),
  }
}
