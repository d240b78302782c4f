/** The places of a process for exports that hold records. */
export interface Places {
  /** Waits for a place; first come, first served. @returns a function that gives it back, once */
  take(): Promise<() => void>
  /** Returns whether an export waits for a place. */
  areWanted(): boolean
}

/** Limits how many exports hold a chunk of records. */
export function createPlaces(max: number): Places {
  const waiting: (() => void)[] = []
  let taken = 0

  function release(): void {
    const next = waiting.shift()
    // It passes its place on, so `taken` does not change.
    if (next) next()
    else taken--
  }

  return {
    async take() {
      if (taken < max) taken++
      else await new Promise<void>(resolve => waiting.push(resolve))
      let isTaken = true
      return () => {
        if (isTaken) release()
        isTaken = false
      }
    },
    areWanted: () => waiting.length > 0,
  }
}
