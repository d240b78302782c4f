import DataLoader from 'dataloader'
import type { Figures, FiguresRead, FiguresRequest, Selection } from '../../domain/figures/figure.ts'
import { readFigures } from '../../domain/figures/read.ts'
import type { Caller } from '../../domain/token/caller.ts'
import type { Reader } from '../loaders.ts'

const emptySelection = (): Selection => ({
  periods: false,
  totals: false,
  consents: false,
  outstanding: false,
  status: false,
  expiring: [],
  topProducts: [],
})

/**
 * Waits until all fields of this level have requested their figures. A field requests its figure when its quota units
 * are counted, which takes longer when several instances share the counter.
 */
async function waitForFields(caller: Caller): Promise<void> {
  do {
    await caller.counting
    // Runs after all fields that continue when a promise settles. `process.nextTick` alone would run before these
    // fields.
    await new Promise(resolve => Promise.resolve().then(() => process.nextTick(resolve)))
  } while (caller.counting)
}

/**
 * Reads figures for the fields of a request. One statement reads the figures of one level, so they show the same
 * instant.
 */
export class FiguresLoader {
  readonly #sources = new Map<string, FiguresRead>()
  readonly #reads: DataLoader<FiguresRead, Figures>

  constructor({ records, caller }: Reader) {
    this.#reads = new DataLoader<FiguresRead, Figures>(
      sources => {
        // A figure that is selected after this line belongs to the next read.
        this.#reads.clearAll()
        const reads = sources.map(source => ({ ...source }))
        for (const source of sources) source.selection = emptySelection()
        return readFigures(records, caller.token, reads)
      },
      { batchScheduleFn: read => void waitForFields(caller).then(read) },
    )
  }

  /** Returns the source of the figures with these arguments. All fields with the same arguments share one source. */
  sourceOf(request: FiguresRequest): FiguresRead {
    const key = JSON.stringify(request)
    const source = this.#sources.get(key) ?? { request, selection: emptySelection() }
    this.#sources.set(key, source)
    return source
  }

  /**
   * Selects a figure. All figures that are selected in one turn of the event loop are read together.
   *
   * @param select adds the figure to the selection, and returns the function that takes it from the result
   */
  async load<Result>(source: FiguresRead, select: (selection: Selection) => (figures: Figures) => Result) {
    const take = select(source.selection)
    return take(await this.#reads.load(source))
  }
}

/** Creates the loader of a request; the key of the loader in `Loaders.get`. */
export const figuresLoader = (reader: Reader) => new FiguresLoader(reader)
