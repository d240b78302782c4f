/** Collects rows in memory until they are written together. */
interface WriteBuffer<Row> {
  /** How many rows are waiting. */
  readonly size: number
  has(key: string): boolean
  /** Adds a row; costs no statement. */
  add(key: string, row: Row): void
  /** Writes all rows. When it fails, they are kept for the next call. */
  flush(): Promise<void>
}

/**
 * @param merge combines two rows with the same key into one
 * @param write writes all rows, or throws and writes none
 */
export function createWriteBuffer<Row>(
  merge: (before: Row, after: Row) => Row,
  write: (rows: readonly Row[]) => Promise<unknown>,
): WriteBuffer<Row> {
  let rows = new Map<string, Row>()
  let flushing = Promise.resolve()

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
    get size() {
      return rows.size
    },
    has: key => rows.has(key),
    add,
    flush() {
      // One at a time: the last flush writes also what an earlier one could not.
      flushing = flushing.catch(() => {}).then(writeAll)
      return flushing
    },
  }
}
