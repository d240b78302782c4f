interface ImportError {
  file: string
  /** The number of the line, from 1; null for an error of the whole file. */
  line: number | null
  reason: string
}

/** The maximum number of listed errors; further errors are only counted. */
export const maxListedErrors = 20

/** Collects errors. */
export class ImportErrors {
  readonly listed: ImportError[] = []
  count = 0

  /** Adds errors. @param count the number of all errors, when `errors` has only the first of them */
  add(errors: ImportError[], count = errors.length): void {
    this.listed.push(...errors.slice(0, maxListedErrors - this.listed.length))
    this.count += count
  }
}

/** The error of an import that was refused because lines of the files have errors. */
export class ImportRefusedError extends Error {
  constructor(readonly errors: ImportErrors) {
    const { listed, count } = errors
    listed.sort((one, other) => one.file.localeCompare(other.file) || (one.line ?? 0) - (other.line ?? 0))
    const lines = listed.map(({ file, line, reason }) => `${file}${line === null ? '' : `:${line}`}: ${reason}`)
    if (count > lines.length) lines.push(`Further faults: ${(count - lines.length).toLocaleString('en')}.`)
    super([...lines, 'Nothing was imported. Correct the lines, and run the command again.'].join('\n'))
  }
}
