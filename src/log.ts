import type { FastifyServerOptions } from 'fastify'
import { ReasonError } from './reasons.ts'

/** The destination of log lines. Each line is JSON. */
export interface LogDestination {
  write(line: string): void
}

/** An error in a log line, with more properties for errors of Postgres and of connections. */
interface LoggedError extends Record<string, unknown> {
  type: string
  message: string
  /** The stack, with function names, files and line numbers but without the message. */
  stack: string
  cause?: LoggedError | undefined
  errors?: LoggedError[] | undefined
}

/** The maximum depth of nested causes in a line, and the maximum number of errors of an `AggregateError`. */
const limits = { depth: 5, errors: 5 }

/**
 * Returns the options of the service's logger, which writes only the result of `toLoggedError` for an error.
 *
 * @param level the lowest level that is written
 * @param destination default: standard output
 */
export function loggerOptions(level: string, destination?: LogDestination) {
  return {
    level,
    ...(destination && { stream: destination }),
    serializers: {
      err: (error: unknown) => toLoggedError(error),
      req: ({ method, routeOptions }) => ({ method, route: routeOptions?.url }),
    },
    hooks: {
      logMethod(args, method) {
        const [first, message] = args
        // pino would format further arguments into the message, for example the text of an error.
        if (typeof first !== 'object' || first === null) return method.call(this, String(first))
        const line = first instanceof Error ? { err: first } : first
        if (typeof message === 'string') return method.call(this, line, message)
        // Without this message, pino would write the message of the error.
        return method.call(this, line, ...('err' in line ? ['an error'] : []))
      },
    },
  } satisfies FastifyServerOptions['logger']
}

/**
 * Returns a thrown value for the log, without any text that can come from a row or a request. The message of the error
 * is left out, and so are the detail, the hint and the context of a Postgres error.
 *
 * @param depth the number of errors of which this value is the nested cause
 */
export function toLoggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: typeof error, stack: '' }
  const own = (name: string): unknown => Reflect.get(error, name)
  const inner = (each: unknown) => toLoggedError(each, depth + 1)
  const { code, statement } = summarizeError(error)
  return {
    type: loggedWord(error.name) ?? 'Error',
    message: statement ? `${code} in ${statement}` : code,
    code: loggedWord(own('code')),
    statement,
    severity: loggedWord(own('severity')),
    routine: loggedWord(own('routine')),
    schema: loggedWord(own('schema_name')),
    table: loggedWord(own('table_name')),
    column: loggedWord(own('column_name')),
    constraint: loggedWord(own('constraint_name')),
    syscall: loggedWord(own('syscall')),
    address: loggedAddress(own('address')),
    port: loggedPort(own('port')),
    reasons: error instanceof ReasonError ? error.reasons : undefined,
    stack: framesOf(error),
    cause: error.cause instanceof Error && depth < limits.depth ? inner(error.cause) : undefined,
    errors:
      error instanceof AggregateError && depth < limits.depth
        ? error.errors.slice(0, limits.errors).map(inner)
        : undefined,
  }
}

/**
 * Returns the properties that identify the kind of a failure: the code of the error (its type when it has no code), and
 * its statement.
 */
export function summarizeError(error: unknown): { code: string; statement: string | undefined } {
  if (!(error instanceof Error)) return { code: typeof error, statement: undefined }
  const code = loggedWord(Reflect.get(error, 'code')) ?? loggedWord(error.name) ?? 'Error'
  return { code, statement: statementIn(Reflect.get(error, 'query')) }
}

/** Returns the place in the code at which an error was created; an empty text when it is unknown. */
export const stackTop = (error: unknown): string =>
  error instanceof Error ? (framesOf(error).split('\n')[0] ?? '') : ''

const createTextFilter = (pattern: RegExp) => (value: unknown) =>
  typeof value === 'string' && pattern.test(value) ? value : undefined

/** Returns the value if it looks like a name or a SQLSTATE, and otherwise undefined. */
const loggedWord = createTextFilter(/^[A-Za-z_][\w.$-]{0,62}$|^\w{5}$/)
const loggedAddress = createTextFilter(/^[\w.:%/-]{1,255}$/)
const loggedPort = (value: unknown) => (typeof value === 'number' ? value : undefined)

/** Returns the name of a statement, from its leading comment. */
const statementIn = (query: unknown) =>
  typeof query === 'string' ? /\/\* ([a-z_]+\.[a-z_]+) \*\//.exec(query)?.[1] : undefined

/** Matches a line of a V8 stack that names a place in a file. */
const framePattern = /^ {4}at (?:[\w$.<>[\] ]+ \()?(?:file:\/\/|node:|\/)[^\s()]*:\d+:\d+\)?$/

/** Returns the frames of a stack without the message of the error, which may have several lines. */
function framesOf({ stack = '', message }: Error): string {
  const start = stack.indexOf(message)
  if (start === -1) return ''
  const lines = stack.slice(start + message.length).split('\n')
  return lines.filter(line => framePattern.test(line)).join('\n')
}

/**
 * Returns the name of an operation in a caller's document, for logs and traces, if it cannot be a secret or a
 * reference: it has at most 40 characters, at most two digits, and not the prefix of our secrets.
 */
export const safeName = (name: string | undefined): string | undefined =>
  name !== undefined && /^(?!.*vg[wr]_)(?!(?:\D*\d){3})[A-Za-z_]\w{0,39}$/.test(name) ? name : undefined
