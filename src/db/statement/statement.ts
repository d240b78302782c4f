import type { Fragment } from '../sql.ts'

/** A statement as the driver makes it: `handler` sends it when its promise is first used. */
export interface Statement extends Fragment {
  /** The parts of the template: the same array each time the same template runs. */
  strings: readonly string[]
  args: readonly unknown[]
  /** The driver's options: how it is sent, and whether the server keeps its plan. */
  options: object
  /** True when its rows are buffers instead of objects. */
  isRaw?: unknown
  handler: (statement: Statement) => void
  resolve: (rows: unknown) => void
  reject: (error: unknown) => void
  /** Called when the statement goes to the driver. */
  onSend?: () => void
}

/**
 * Calls a listener once, when a statement has its rows or its error. The driver rejects a statement again when its
 * connection closes.
 */
export function onStatementEnd(statement: Statement, listener: (error?: unknown) => void): void {
  const { resolve, reject } = statement
  let hasEnded = false
  const end = (error?: unknown) => {
    if (hasEnded) return
    hasEnded = true
    listener(error)
  }
  statement.resolve = rows => {
    resolve(rows)
    end()
  }
  statement.reject = error => {
    reject(error)
    end(error)
  }
}

/** Returns whether the driver made a whole statement, not a fragment of a statement. */
export const isStatement = (made: unknown): made is Statement =>
  typeof made === 'object' && made !== null && 'handler' in made

/** The comment that names a statement; its group is the name. */
const nameComment = /\/\* ([a-z_]+\.[a-z_]+) \*\//

/**
 * Returns the text that contains the name of a statement. That is its own text, or the text of a first fragment:
 * several tables can share a statement, and a statement can contain another.
 */
export const namedText = ({ strings, args: [first] }: Pick<Statement, 'strings' | 'args'>): readonly string[] =>
  isFragment(first) && !nameComment.test(strings[0] ?? '') ? namedText(first) : strings

const names = new WeakMap<readonly string[], string | null>()

/** Returns the name of a statement, `voucher.list`, or null when it has none. Reads each text once. */
export function nameOf(statement: Statement): string | null {
  const text = namedText(statement)
  const known = names.get(text)
  if (known !== undefined) return known
  const name = nameComment.exec(text[0] ?? '')?.[1] ?? null
  names.set(text, name)
  return name
}

const isFragment = (value: unknown): value is Pick<Statement, 'strings' | 'args'> =>
  typeof value === 'object' && value !== null && 'strings' in value && 'args' in value && Array.isArray(value.strings)

/** A statement that was not sent. `isOutage` knows its code. */
export class StatementNotSentError extends Error {
  override readonly name = 'StatementNotSentError'
  readonly code = 'STATEMENT_NOT_SENT'
  /** The comment that names the statement, for the log. */
  readonly query: string

  /** @param reason the end of a sentence that begins with "The statement" */
  constructor(statement: Statement, reason: string) {
    super(`The statement ${reason}.`)
    this.query = nameComment.exec(namedText(statement)[0] ?? '')?.[0] ?? ''
  }
}

/** The error of a statement that was not sent because its caller is gone. It is no failure of the service. */
export class CallerGoneError extends StatementNotSentError {
  constructor(statement: Statement) {
    super(statement, 'lost its caller')
  }
}

/**
 * Makes the server plan a statement for its own parameters, and not keep it. Use it for statements whose text depends
 * on a caller's arguments: a connection would keep a plan for each combination. The driver has no option for that.
 */
export function withoutPreparing<Sent extends object>(statement: Sent): Sent {
  if ('options' in statement && typeof statement.options === 'object')
    Object.assign(statement.options ?? {}, { prepare: false })
  return statement
}
