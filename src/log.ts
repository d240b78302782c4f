import type { FastifyServerOptions } from 'fastify'

/** Where log lines go: a line of JSON each. */
export interface LogDestination {
  write(line: string): void
}

/**
 * All that a log line says of an error. The error's own message is not part of it: it can quote a row or a request, as
 * can the detail, the hint and the context of a Postgres error.
 */
type LoggedError = {
  type: string
  /** The code or the type, and the statement. */
  message: string
  code?: string | undefined
  /** The name of the statement that failed. */
  statement?: string | undefined
  /** Of a Postgres error: how bad it is, where in the server it was raised, and which object it concerns. */
  severity?: string | undefined
  routine?: string | undefined
  schema?: string | undefined
  table?: string | undefined
  column?: string | undefined
  constraint?: string | undefined
  /** Of a connection that failed. */
  syscall?: string | undefined
  address?: string | undefined
  port?: number | undefined
  /** Function names, files and lines. */
  stack: string
  cause?: LoggedError | undefined
  errors?: LoggedError[] | undefined
}

/** How many causes of causes a line holds, and how many errors of an `AggregateError`. */
const limits = { depth: 5, errors: 5 }

/**
 * @param level the lowest level that is written
 * @param destination the standard output when left out
 * @returns the options of the service's logger, which writes of an error only what `toLoggedError` returns
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
        // Further arguments would be formatted into the message, an error's text among them.
        if (typeof first !== 'object' || first === null) return method.call(this, String(first))
        const line = first instanceof Error ? { err: first } : first
        if (typeof message === 'string') return method.call(this, line, message)
        // Without a message, pino would take that of the error.
        return method.call(this, line, ...('err' in line ? ['an error'] : []))
      },
    },
  } satisfies FastifyServerOptions['logger']
}

/** @returns what the log may hold of a thrown value: nothing that a row or a request could have put there */
export function toLoggedError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: typeof error, stack: '' }
  const own = (name: string): unknown => Reflect.get(error, name)
  const inner = (each: unknown) => toLoggedError(each, depth + 1)
  const type = word(error.name) ?? 'Error'
  const code = word(own('code'))
  const statement = statementIn(own('query'))
  return {
    type,
    message: [code ?? type, ...(statement ? ['in', statement] : [])].join(' '),
    code,
    statement,
    severity: word(own('severity')),
    routine: word(own('routine')),
    schema: word(own('schema_name')),
    table: word(own('table_name')),
    column: word(own('column_name')),
    constraint: word(own('constraint_name')),
    syscall: word(own('syscall')),
    address: address(own('address')),
    port: port(own('port')),
    stack: framesOf(error),
    cause: error.cause instanceof Error && depth < limits.depth ? inner(error.cause) : undefined,
    errors:
      error instanceof AggregateError && depth < limits.depth
        ? error.errors.slice(0, limits.errors).map(inner)
        : undefined,
  }
}

const matching = (pattern: RegExp) => (value: unknown) =>
  typeof value === 'string' && pattern.test(value) ? value : undefined

/** A name or a code. */
const word = matching(/^[A-Za-z_][\w.$-]{0,62}$|^\w{5}$/)
const address = matching(/^[\w.:%/-]{1,255}$/)
const port = (value: unknown) => (typeof value === 'number' ? value : undefined)

/** @returns what the leading comment of a statement calls it */
const statementIn = (query: unknown) =>
  typeof query === 'string' ? /\/\* ([a-z_]+\.[a-z_]+) \*\//.exec(query)?.[1] : undefined

/** A line of a stack that V8 has written, as far as it names a place in a file. */
const frame = /^ {4}at (?:[\w$.<>[\] ]+ \()?(?:file:\/\/|node:|\/)[^\s()]*:\d+:\d+\)?$/

/** @returns the stack without the message that it begins with, which may have several lines */
function framesOf({ stack = '', message }: Error): string {
  const start = stack.indexOf(message)
  if (start === -1) return ''
  const lines = stack.slice(start + message.length).split('\n')
  return lines.filter(line => frame.test(line)).join('\n')
}
