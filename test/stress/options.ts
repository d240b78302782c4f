/** The size of a run. Times are in seconds. */
export interface StressOptions {
  sources: 'plain' | 'adopted' | 'replicated'
  /** The shortest time that the writers run. */
  seconds: number
  writers: number
  /** The number of `clientKinds` that run, from the first. */
  clients: number
  longest: number
  seed: number
  bulkRows: number
  instances: number
  packaged: boolean
  pgbouncer: boolean
  standbys: number
  pgpool: boolean
  cards: number
  kills: number
  without?: string
}
