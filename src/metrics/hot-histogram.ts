import { Histogram, type HistogramConfiguration } from 'prom-client'

/**
 * The description of a histogram with one or two labels. The bounds of its buckets are in seconds, the lowest first.
 */
type Description = Required<
  Pick<HistogramConfiguration<string>, 'name' | 'help' | 'labelNames' | 'buckets' | 'registers'>
>

interface Series {
  labels: Record<string, string>
  /**
   * The number of values in each bucket, without the values of lower buckets. The last bucket has the values above all
   * bounds.
   */
  counts: number[]
  sum: number
}

/**
 * A histogram for the values of each request and each statement. prom-client's `observe` hashes the labels each time,
 * which takes 4 µs, 5 % of the time of a record; `add` takes a fraction of this time.
 */
export class HotHistogram extends Histogram {
  readonly #described: Description
  readonly #series = new Map<string, Series>()

  constructor(described: Description) {
    super(described)
    this.#described = described
  }

  /**
   * Observes a value, in seconds, of a series.
   *
   * @param first the first label of the series; further labels follow in the order of `labelNames`
   */
  add(value: number, first: string, second = ''): void {
    const key = second === '' ? first : `${first} ${second}`
    const series = this.#series.get(key) ?? this.#addSeries(key, [first, second])
    let place = 0
    for (const bound of this.#described.buckets) {
      if (value <= bound) break
      place++
    }
    series.counts[place] = (series.counts[place] ?? 0) + 1
    series.sum += value
  }

  #addSeries(key: string, values: string[]): Series {
    const { labelNames, buckets } = this.#described
    const labels = Object.fromEntries(labelNames.map((name, index) => [name, values[index] ?? '']))
    const series = { labels, counts: [0, ...buckets.map(() => 0)], sum: 0 }
    this.#series.set(key, series)
    return series
  }

  /** Returns all series. prom-client calls this for text and for JSON. */
  async getForPromString() {
    const { name, help, buckets } = this.#described
    const values = [...this.#series.values()].flatMap(({ labels: sharedLabels, counts, sum }) => {
      let count = 0
      const cumulated = counts.map((own, place) => {
        count += own
        return { metricName: `${name}_bucket`, labels: { le: buckets[place] ?? '+Inf' }, sharedLabels, value: count }
      })
      const totals = Object.entries({ sum, count })
      return [
        ...cumulated,
        ...totals.map(([total, value]) => ({ metricName: `${name}_${total}`, labels: {}, sharedLabels, value })),
      ]
    })
    return { name, help, values, type: 'histogram', aggregator: 'sum' }
  }
}
