/** The lines of an export: the server time, the records with a cursor after each chunk, and the end. */

import type { Position } from '../domain/paging/cursor.ts'
import type { PageWindow } from '../domain/paging/page.ts'
import type { Semaphore } from '../domain/rate/semaphore.ts'
import type { Chunk } from '../domain/record/chunk.ts'
import type { Instant } from '../domain/value/instant.ts'
import type { Context } from '../graphql/context.ts'
import type { BulkExport, ExportedList } from './routes.ts'

/** The number of records that are written in one turn of the event loop, which takes some 0.5 ms. */
const stepSize = 100

/**
 * The maximum wait for a reader that makes no progress, in milliseconds. Then the export drops its records, and a new
 * statement reads them later.
 */
const stallMs = 1_000

/** The maximum time for which an export keeps its records in memory while other exports wait, in milliseconds. */
const turnMs = 500

interface ExportRun {
  bulkExport: BulkExport
  createContext: () => Context
  list: ExportedList
  /**
   * The range of the list to export, which ends at the server time. It begins at the cursor, or without a cursor at the
   * start of the list. The limit of the window is the number of records in a chunk.
   */
  window: PageWindow
  /** The export contains the records and removals up to this instant. */
  serverTime: Instant
  /** The semaphore that limits how many exports hold records in memory. */
  places: Semaphore
  waitForStep: () => Promise<void>
  /** Called before each chunk. Throws when the export must end. */
  continues: () => Promise<void>
  /** Called before the last line. */
  complete: () => Promise<void>
}

const toLine = (value: object) => Buffer.from(`${JSON.stringify(value)}\n`)

/** The records of a chunk that are not written yet. */
class Remainder {
  #steps: Iterator<Position[]> | null
  readonly #readAt = performance.now()
  /** The position of the record that was written last. */
  position: Position | null = null
  written = 0
  /** True when the list may have more records after this chunk. */
  readonly mayHaveMore: boolean

  /** @param release frees the slot of the chunk for another export */
  constructor(
    chunk: Chunk<Position>,
    private readonly release: () => void,
  ) {
    this.#steps = chunk.rows(stepSize)[Symbol.iterator]()
    this.mayHaveMore = chunk.mayHaveMore
  }

  /** True when the reader was too slow, so that the remaining records must be read again. */
  get isDropped(): boolean {
    return this.#steps === null
  }

  /** True when the records have been in memory for so long that other exports may use the slot instead. */
  get isOverdue(): boolean {
    return performance.now() - this.#readAt > turnMs
  }

  /** Writes the next records. Returns null when no records are left. */
  async write({ bulkExport, createContext, waitForStep }: ExportRun): Promise<Buffer | null> {
    await waitForStep()
    const step = this.#steps?.next()
    if (!step || step.done) return null
    const rows: Position[] = step.value
    const last = rows.at(-1)
    // Copies the position, because a reference to the row would keep the text of the whole chunk in memory.
    if (last) this.position = { id: last.id, updatedAt: last.updatedAt }
    this.written += rows.length
    return bulkExport.write(createContext(), rows)
  }

  drop(): void {
    this.#steps = null
    this.release()
  }
}

const dropRemainder = (remainder: Remainder) => remainder.drop()

/**
 * Reads the chunk after a position. A separate function, because its variables can be freed, whereas the variables of
 * `exportLines` stay in memory while a reader stalls.
 */
async function readChunk({ places, continues, list, createContext, window }: ExportRun, after: Position | null) {
  const release = await places.take()
  try {
    await continues()
    return new Remainder(await list.read(createContext(), { ...window, after }), release)
  } catch (error) {
    release()
    throw error
  }
}

/**
 * Reads and writes an export. Between the steps, the export holds no connection. When its reader has stalled, or is
 * slow while other exports wait for a place, it drops the records in memory, so that slow readers do not block other
 * exports.
 *
 * @throws the errors of the statements; the export then has no last line
 */
export async function* exportLines(run: ExportRun): AsyncGenerator<Buffer> {
  const { window, serverTime, list, places } = run
  const { cursors } = run.createContext()
  const { updatedSince } = window
  let after: Position | null = window.after
  let count = 0
  yield toLine({ server_time: serverTime })
  for (let hasMore = true; hasMore; ) {
    const remainder = await readChunk(run, after)
    try {
      for (let bytes = await remainder.write(run); bytes; bytes = await remainder.write(run)) {
        const timer = setTimeout(dropRemainder, places.isWanted ? turnMs : stallMs, remainder).unref()
        yield bytes
        clearTimeout(timer)
        if (places.isWanted && remainder.isOverdue) remainder.drop()
      }
      hasMore = remainder.mayHaveMore || remainder.isDropped
    } finally {
      // Drops the records before the cursor is sent, because the reader can also stall or disconnect at the cursor.
      remainder.drop()
    }
    if (!remainder.position) continue
    count += remainder.written
    after = remainder.position
    yield toLine({ cursor: cursors.encrypt(list.identity, { ...after, updatedSince, until: serverTime }) })
  }
  await run.complete()
  yield toLine({ end: true, count })
}
