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
 * Waits until all fields of this level have requested their figures. Some request them immediately; others wait until their
 * quota units are counted, which takes longer when several instances share the counter.
 */
async function waitForFields(caller: Caller): Promise<void> {
  do {
    await caller.counting
    // Fields that continue when a promise settles must request first. A mere `process.nextTick` would run before them.
    await new Promise(resolve => Promise.resolve().then(() => process.nextTick(resolve)))
  } while (caller.counting)
}

/** Reads figures for the fields of a request. The figures of one level share a statement, and so are of one instant. */
export class FiguresLoader {
  readonly #sources = new Map<string, FiguresRead>()
  readonly #reads: DataLoader<FiguresRead, Figures>

  constructor({ records, caller }: Reader) {
    this.#reads = new DataLoader<FiguresRead, Figures>(
      sources => {
        // A figure that is selected from now on belongs to the next read.
        this.#reads.clearAll()
        const reads = sources.map(source => ({ ...source }))
        for (const source of sources) source.selection = emptySelection()
        return readFigures(records, caller.token, reads)
      },
      { batchScheduleFn: read => void waitForFields(caller).then(read) },
    )
  }

  /** Returns the source of these figures: one for all fields with the same arguments. */
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

/** The definition of the loader. */
export const figuresLoader = (reader: Reader) => new FiguresLoader(reader)
