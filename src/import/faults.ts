/** Faulty lines of files. */

interface Fault {
  file: string
  /** From 1; null: the fault concerns the whole file. */
  line: number | null
  reason: string
}

/** The maximum number of faults that are listed; further faults are counted. */
export const mostListed = 20

/** Collects faults. */
export class Faults {
  readonly listed: Fault[] = []
  count = 0

  /** Adds faults. @param count how many there are, when these are the first ones only */
  add(faults: Fault[], count = faults.length): void {
    this.listed.push(...faults.slice(0, mostListed - this.listed.length))
    this.count += count
  }
}

/** Lines are faulty, so nothing was imported. */
export class FaultyLinesError extends Error {
  constructor(readonly faults: Faults) {
    const { listed, count } = faults
    listed.sort((one, other) => one.file.localeCompare(other.file) || (one.line ?? 0) - (other.line ?? 0))
    const lines = listed.map(({ file, line, reason }) => `${file}${line === null ? '' : `:${line}`}: ${reason}`)
    if (count > lines.length) lines.push(`Further faults: ${(count - lines.length).toLocaleString('en')}.`)
    super([...lines, 'Nothing was imported. Correct the lines, and run the command again.'].join('\n'))
  }
}
