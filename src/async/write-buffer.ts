/**
 * Collects rows in memory until a flush writes all of them together.
 *
 * @param merge combines two rows with the same key into one
 * @param write writes all rows, or throws and writes none
 */
export function createWriteBuffer<Row>(
  merge: (before: Row, after: Row) => Row,
  write: (rows: readonly Row[]) => Promise<unknown>,
) {
  let rows = new Map<string, Row>()
  let flushing = Promise.resolve()

  /** Adds a row in memory, without a statement. */
  function add(key: string, row: Row): void {
    const existing = rows.get(key)
    rows.set(key, existing === undefined ? row : merge(existing, row))
  }

  async function writeAll(): Promise<void> {
    if (rows.size === 0) return
    const taken = rows
    rows = new Map()
    try {
      await write([...taken.values()])
    } catch (error) {
      const newer = rows
      rows = taken
      for (const [key, row] of newer) add(key, row)
      throw error
    }
  }

  return {
    get size(): number {
      return rows.size
    },
    has: (key: string): boolean => rows.has(key),
    add,
    /** Writes all rows. After a failure the rows stay in the buffer for the next call. */
    flush(): Promise<void> {
      // Only one flush runs at a time, because each flush also writes the rows that an earlier flush could not write.
      flushing = flushing.catch(() => {}).then(writeAll)
      return flushing
    },
  }
}
