import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'

/** Finds what is asked for, many at once, and knows it for a while: a busy integration asks the same at every page. */
export interface LoadingCache<Key, Value> {
  /** @returns what is known; undefined is no answer: it has to be found */
  known(key: Key): Value | undefined
  /** @returns null when there is no such thing: that is not kept, so what is made now is there at the next request */
  find(key: Key): Promise<Value | null>
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
  // What it remembers is what is being looked for.
  const loader = new DataLoader<Key, Value | null>(async keys => {
    // What is found may be out of date from here on.
    const start = performance.now()
    try {
      const found = await find(keys)
      for (const [index, key] of keys.entries()) known.set(key, found[index] ?? undefined, { start })
      return found
    } finally {
      for (const key of keys) loader.clear(key)
    }
  })
  return {
    known: key => known.get(key),
    find: key => loader.load(key),
  }
}
