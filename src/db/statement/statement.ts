import type { Fragment } from '../sql.ts'

/** A statement of the driver. Its first use as a promise calls `handler`, which sends the statement. */
export interface Statement extends Fragment {
  /** The texts of the template. The array is the same object for each run of the same template. */
  strings: readonly string[]
  args: readonly unknown[]
  /** The driver's options: the protocol with which the statement is sent, and whether the server keeps its plan. */
  options: object
  /** True when the rows of the result are buffers instead of objects. */
  isRaw?: unknown
  handler: (statement: Statement) => void
  resolve: (rows: unknown) => void
  reject: (error: unknown) => void
  /** Called immediately before the driver gets the statement. */
  onSend?: () => void
}

/**
 * Calls a listener when a statement has its rows or its error; only once, although the driver rejects a statement again
 * when the connection closes.
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

/** Returns whether a value of the driver is a whole statement, and not a fragment of a statement. */
export const isStatement = (made: unknown): made is Statement =>
  typeof made === 'object' && made !== null && 'handler' in made

/** The leading comment with the name of a statement; the group of the match is the name. */
const nameComment = /\/\* ([a-z_]+\.[a-z_]+) \*\//

/**
 * Returns the text that contains the name of a statement. The name is in the statement's own text, or in the text of a
 * fragment at its start, because a fragment can have the first words of a statement.
 */
export const findNamedText = ({ strings, args: [first] }: Pick<Statement, 'strings' | 'args'>): readonly string[] =>
  isFragment(first) && !nameComment.test(strings[0] ?? '') ? findNamedText(first) : strings

const nameCache = new WeakMap<readonly string[], string | null>()

/**
 * Returns the name of a statement, for example `voucher.list`, or null when it has no name. Caches the name of each
 * text.
 */
export function nameOf(statement: Statement): string | null {
  const text = findNamedText(statement)
  const known = nameCache.get(text)
  if (known !== undefined) return known
  const name = nameComment.exec(text[0] ?? '')?.[1] ?? null
  nameCache.set(text, name)
  return name
}

const isFragment = (value: unknown): value is Pick<Statement, 'strings' | 'args'> =>
  typeof value === 'object' && value !== null && 'strings' in value && 'args' in value && Array.isArray(value.strings)

/** The error of a statement that was not sent. `isOutage` returns true for its code. */
export class StatementNotSentError extends Error {
  override readonly name = 'StatementNotSentError'
  readonly code = 'STATEMENT_NOT_SENT'
  /** The comment that names the statement, for the log. */
  readonly query: string

  /** @param reason the end of a sentence that begins with "The statement" */
  constructor(statement: Statement, reason: string) {
    super(`The statement ${reason}.`)
    this.query = nameComment.exec(findNamedText(statement)[0] ?? '')?.[0] ?? ''
  }
}

/**
 * The error of a statement that was not sent because its caller is gone. It does not count as a failure of the service.
 */
export class CallerGoneError extends StatementNotSentError {
  constructor(statement: Statement) {
    super(statement, 'lost its caller')
  }
}

/**
 * Makes the server plan a statement for its actual parameters, and keep no plan. Use it for statements whose text
 * depends on a caller's arguments, because a connection would otherwise keep a plan for each text. The driver has no
 * option for that.
 */
export function withoutPreparing<Sent extends object>(statement: Sent): Sent {
  if ('options' in statement && typeof statement.options === 'object')
    Object.assign(statement.options ?? {}, { prepare: false })
  return statement
}
