import { type Linked, LinkedList } from './linked-list.ts'
import { namedText, nounIn, type Statement } from './statement.ts'

/** A statement that waits or is under way. */
export class Entry implements Linked<Entry> {
  previous: Entry | null = null
  next: Entry | null = null
  /** The tick in which it was sent. */
  tick = 0
  /** When it fails unless it was sent, in milliseconds of `performance.now()`. */
  deadline = 0
  /** Its place among all that wait. */
  order = 0
  readonly lane: Lane
  readonly statement: Statement
  readonly isWanted: () => boolean

  constructor(lane: Lane, statement: Statement, isWanted: () => boolean) {
    this.lane = lane
    this.statement = statement
    this.isWanted = isWanted
  }
}

/** The statements of one noun. */
export class Lane {
  /** For how many ticks the statement that ended last was under way. */
  lastTicks = 0
  readonly underWay = new LinkedList<Entry>()
  readonly waiting = new LinkedList<Entry>()
}

/** The lanes of a queue. Statements without a name have a lane for each template. */
export class Lanes {
  readonly #ofNoun = new Map<string, Lane>()
  readonly #ofText = new WeakMap<readonly string[], Lane>()

  /** Returns the lane of a statement. */
  of(statement: Statement): Lane {
    const known = this.#ofText.get(statement.strings)
    if (known) return known
    const text = namedText(statement)
    const lane = this.#ofText.get(text) ?? this.#create(nounIn(text))
    this.#ofText.set(text, lane)
    return lane
  }

  #create(noun: string | null): Lane {
    if (noun === null) return new Lane()
    const lane = this.#ofNoun.get(noun) ?? new Lane()
    this.#ofNoun.set(noun, lane)
    return lane
  }
}
