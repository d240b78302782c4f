import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'

/**
 * Loads values by key, in batches, and keeps them for a limited time: an integration sends the same keys often.
 *
 * @param loadMany loads the value of each key, in order; null where there is none
 * @param lifetime the maximum age of a cached value, in milliseconds
 */
export function createLoadingCache<Key extends string | number, Value extends object>(
  loadMany: (keys: readonly Key[]) => Promise<(Value | null)[]>,
  lifetime: number,
) {
  const cached = new LRUCache<Key, Value>({ max: 10_000, ttl: lifetime })
  // A load is not joined after this time: its value would be too old, and it may never settle.
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
    /** Returns the cached value, or undefined when it must be loaded. */
    peek: (key: Key): Value | undefined => cached.get(key),
    /**
     * Loads a value in one batch with other concurrent loads, and joins a running load of the same key. Null (no such
     * value) and failures are not cached, so the next request finds a value that has been added.
     */
    load(key: Key): Promise<Value | null> {
      // DataLoader would delay the joined load until its next batch.
      return loading.get(key) ?? loader.load(key)
    },
    /** Loads a value by a query that starts after the call. */
    reload: (key: Key): Promise<Value | null> => loader.clear(key).load(key),
  }
}
