/**
 * Checks that the answers of the service match their TypeScript types. The client uses a value only after this check.
 */
import { VoucherGatewayError } from './error.ts'
import { isObject } from './json.ts'

/** Returns the problem of a value with its path, such as `[3].id is not an id`; null when the value is valid. */
export interface Check<T> {
  (value: unknown): string | null
  /** Never set. The property makes the compiler compare the types of two checks. */
  readonly type?: T
}

type Fields<T> = { [Key in keyof T]-?: undefined extends T[Key] ? Check<T[Key] | undefined> : Check<T[Key]> }

const createCheck =
  <T>(isRight: (value: unknown) => boolean, problem: string): Check<T> =>
  each =>
    isRight(each) ? null : ` is ${problem}`

/** Accepts an id: a positive integer that a JavaScript number represents exactly. */
export const id = createCheck<number>(each => Number.isSafeInteger(each) && Number(each) > 0, 'not an id')
/** Accepts a whole number from 0 up. */
export const count = createCheck<number>(each => Number.isSafeInteger(each) && Number(each) >= 0, 'not a count')
/** A whole number. */
export const integer = createCheck<number>(Number.isSafeInteger, 'not a whole number')
/** Accepts a finite number. `JSON.parse` reads `1e999` as Infinity, which this check rejects. */
export const number = createCheck<number>(Number.isFinite, 'not a number')
/** True or false. */
export const boolean = createCheck<boolean>(each => typeof each === 'boolean', 'neither true nor false')
/** A text. */
export const text = createCheck<string>(each => typeof each === 'string', 'not a text')
/**
 * Accepts a cursor. Rejects an empty cursor, because the service would return the first page again, and NUL or half a
 * surrogate pair, because UTF-8 or PostgreSQL cannot hold them.
 */
export const cursor = createCheck<string>(
  each => typeof each === 'string' && /^[^\0\p{Surrogate}]+$/u.test(each),
  'not a cursor',
)
/** A day, `2026-01-31`. */
export const day = createCheck<string>(each => typeof each === 'string' && isDay(each), 'not a date')
/** Accepts an instant in UTC, such as `2026-01-31T09:30:00.123456Z`. */
export const instant = createCheck<string>(each => typeof each === 'string' && isInstant(each), 'not an instant')

/** Creates a check that accepts only the given texts. */
export const oneOf = <T extends string>(...texts: readonly T[]): Check<T> =>
  createCheck(each => texts.some(one => one === each), `none of ${texts.join(', ')}`)

/** Creates a check that also accepts null. */
export const nullable =
  <T>(check: Check<T>): Check<T | null> =>
  each =>
    each === null ? null : check(each)

/** Creates a check of a field that can be absent. */
export const optional =
  <T>(check: Check<T>): Check<T | undefined> =>
  each =>
    each === undefined ? null : check(each)

/** An array. */
export const array =
  <T>(check: Check<T>): Check<T[]> =>
  each => {
    if (!Array.isArray(each)) return ' is not an array'
    for (const [index, item] of each.entries()) {
      const problem = check(item)
      if (problem !== null) return `[${index}]${problem}`
    }
    return null
  }

/** Creates an object in which every given name has the same check. */
export const each = <T, Name extends string>(check: Check<T>, ...names: Name[]) =>
  // The cast is safe, because the keys of the object are exactly these names.
  Object.fromEntries(names.map(name => [name, check])) as Record<Name, Check<T>>

/**
 * Creates a check of an object with these fields. Ignores all other fields, because a later version of the service can
 * add fields.
 */
export function object<T extends object>(fields: Fields<T>): Check<T> {
  const names = Object.keys(fields)
  const checks: Check<unknown>[] = Object.values(fields)
  // This loop uses an index, because that is faster and an export has millions of fields.
  return each => {
    if (!isObject(each)) return ' is not an object'
    for (let index = 0; index < names.length; index++) {
      const problem = checks[index]!(each[names[index]!])
      if (problem !== null) return `.${names[index]}${problem}`
    }
    return null
  }
}

/**
 * Checks a value and returns it with the type of the check.
 *
 * @param place the path of the value in the answer, such as `data`; empty for the whole answer
 * @throws VoucherGatewayError `INVALID_RESPONSE`, whose message names the field
 */
export function parse<T>(check: Check<T>, value: unknown, requestId: string, place = ''): T {
  const problem = check(value)
  // The cast is safe, because the check has verified all fields of the type.
  if (problem === null) return value as T
  const field = `${place}${problem}`.replace(/^\./, '').replace(/^ /, 'the body ')
  const message = `The answer is not one of Voucher Gateway: ${field}. Check the address.`
  throw new VoucherGatewayError(message, { code: 'INVALID_RESPONSE', requestId })
}

const month = '(?:0[1-9]|1[0-2])'
const timePattern = '(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d(?:\\.\\d{1,9})?Z'
const dayForm = new RegExp(`^(?!0000)\\d{4}-${month}-(?:0[1-9]|[12]\\d|3[01])$`)
const instantForm = new RegExp(`^(?!0000)\\d{4}-${month}-(?:0[1-9]|[12]\\d|3[01])T${timePattern}$`)

const isDay = (text: string) => dayForm.test(text) && isInMonth(text)

const isInstant = (text: string) => instantForm.test(text) && isInMonth(text)

/** Returns whether the day exists in the month: days up to the 28th always do. Creates no `Date`, for speed. */
function isInMonth(text: string): boolean {
  const date = text.slice(8, 10)
  if (date < '29') return true
  const month = text.slice(5, 7)
  if (month !== '02') return date < '31' || !['04', '06', '09', '11'].includes(month)
  const year = Number(text.slice(0, 4))
  return date === '29' && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
}
