/** What is gathered in memory, and now and then written. */
export interface WriteBuffer<Row> {
  /** How many rows are gathered. */
  readonly size: number
  has(key: string): boolean
  /** Gathers a row; costs no statement. */
  add(key: string, row: Row): void
  /** Writes what was gathered. What cannot be written is kept for the next time. */
  flush(): Promise<void>
}

/**
 * @param merge makes one row of what was gathered before and after under the same key
 * @param write writes all rows, or fails and writes none
 */
export function createWriteBuffer<Row>(
  merge: (before: Row, after: Row) => Row,
  write: (rows: readonly Row[]) => Promise<unknown>,
): WriteBuffer<Row> {
  let rows = new Map<string, Row>()
  let saving = Promise.resolve()

  function add(key: string, row: Row): void {
    const known = rows.get(key)
    rows.set(key, known === undefined ? row : merge(known, row))
  }

  async function saveAll(): Promise<void> {
    if (rows.size === 0) return
    const taken = rows
    rows = new Map()
    try {
      await write([...taken.values()])
    } catch (error) {
      const meanwhile = rows
      rows = taken
      for (const [key, row] of meanwhile) add(key, row)
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
      // One after the other: the last save finds what an earlier one could not write.
      saving = saving.catch(() => {}).then(saveAll)
      return saving
    },
  }
}
