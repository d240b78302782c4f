/** A store that writes nothing, for a sync that only reports the records it would read. */
import type { CopyReader, Store } from './store.ts'

/**
 * Creates a store that reads an existing copy and ignores all commits.
 *
 * @param reader the existing copy; null when there is no copy
 */
export const createDryStore = (reader: CopyReader | null): Store => ({
  positions: reader?.positions ?? new Map(),
  counts: async () => (await reader?.counts()) ?? [],
  async *records(list, tenantId) {
    if (reader) yield* reader.records(list, tenantId)
  },
  async commit() {},
  async publish() {},
  async close() {
    await reader?.close()
  },
})
