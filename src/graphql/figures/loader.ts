/** Batches the figures that a request selects, and reads the figures of one `figures(...)` in one statement. */
import DataLoader from 'dataloader'
import type { Figures, FiguresRequest, Selection } from '../../domain/figures/figure.ts'
import { readFigures } from '../../domain/figures/read.ts'
import type { Caller } from '../../domain/token/caller.ts'
import type { Reader } from '../loaders.ts'

const nothing = (): Selection => ({
  periods: false,
  totals: false,
  consents: false,
  outstanding: false,
  status: false,
  expiring: [],
  topProducts: [],
})

/** Figures with the same arguments, of one request. All that are selected are read together. */
export interface FiguresSource {
  readonly request: FiguresRequest
  /** The fields that were selected since the last read. */
  selection: Selection
}

/**
 * Waits until all fields of this level have requested their figures. Some request at once; others wait until their
 * quota units are counted, which takes longer when several instances share the counter.
 */
async function untilAllHaveAsked(caller: Caller): Promise<void> {
  do {
    await caller.counting
    // Fields that continue when a promise settles must request first: `process.nextTick` alone would run before them.
    await new Promise(resolve => Promise.resolve().then(() => process.nextTick(resolve)))
  } while (caller.counting)
}

/** Reads figures for the fields of a request. Fields of one level share a statement. */
export class FiguresLoader {
  readonly #sources = new Map<string, FiguresSource>()
  readonly #reads: DataLoader<FiguresSource, Figures>

  constructor({ sql, caller }: Reader) {
    this.#reads = new DataLoader(
      sources => {
        const reads = new Map<FiguresSource, Promise<Figures>>()
        for (const source of sources) {
          if (reads.has(source)) continue
          reads.set(source, readFigures(sql, caller.token, source.request, source.selection))
          source.selection = nothing()
        }
        return Promise.all(sources.map(source => settle(reads.get(source))))
      },
      { cache: false, batchScheduleFn: read => void untilAllHaveAsked(caller).then(read) },
    )
  }

  /** Returns the source of these figures: one for all fields with the same arguments. */
  sourceOf(request: FiguresRequest): FiguresSource {
    const key = JSON.stringify(request)
    const source = this.#sources.get(key) ?? { request, selection: nothing() }
    this.#sources.set(key, source)
    return source
  }

  /**
   * Selects a figure, and reads it together with the others that are selected in this turn.
   *
   * @param select adds the figure to the selection, and returns what takes it from the result
   */
  async load<Result>(source: FiguresSource, select: (selection: Selection) => (figures: Figures) => Result) {
    const take = select(source.selection)
    return take(await this.#reads.load(source))
  }
}

/** Returns the error of a read as a value, so that the other reads of the batch do not fail. */
const settle = async (read: Promise<Figures> | undefined): Promise<Figures | Error> => {
  try {
    if (!read) throw new Error('These figures were not read.')
    return await read
  } catch (error) {
    return error instanceof Error ? error : new Error('The figures could not be read.', { cause: error })
  }
}

/** The definition of the loader. */
export const figuresLoader = (reader: Reader) => new FiguresLoader(reader)
