/** Checks that answers have the shape that their types promise. Nothing that a service sends is used before. */
import { VoucherGatewayError } from './error.ts'
import { isObject } from './json.ts'

/** Returns what is wrong with a value, after the name of its place, such as `[3].id is no id`; null when nothing is. */
export interface Check<T> {
  (value: unknown): string | null
  /** Never set: it makes the compiler compare the type. */
  readonly type?: T
}

type Fields<T> = { [Key in keyof T]-?: undefined extends T[Key] ? Check<T[Key] | undefined> : Check<T[Key]> }

const value =
  <T>(isRight: (value: unknown) => boolean, problem: string): Check<T> =>
  each =>
    isRight(each) ? null : ` is ${problem}`

/** An id: a positive whole number that is exact as a number. */
export const id = value<number>(each => Number.isSafeInteger(each) && Number(each) > 0, 'no id')
/** A whole number that is not negative. */
export const count = value<number>(each => Number.isSafeInteger(each) && Number(each) >= 0, 'no count')
/** A whole number. */
export const integer = value<number>(Number.isSafeInteger, 'no whole number')
/** A number. JSON can hold one that is read as infinite. */
export const number = value<number>(Number.isFinite, 'no number')
/** True or false. */
export const boolean = value<boolean>(each => typeof each === 'boolean', 'neither true nor false')
/** A text. */
export const text = value<string>(each => typeof each === 'string', 'no text')
/** A cursor. An empty one would lead to the first page again. */
export const cursor = value<string>(each => typeof each === 'string' && each !== '', 'no cursor')
/** A day, `2026-01-31`. */
export const day = value<string>(each => typeof each === 'string' && isDay(each), 'no date')
/** An instant in UTC, `2026-01-31T09:30:00.123456Z`. */
export const instant = value<string>(each => typeof each === 'string' && isInstant(each), 'no instant')

/** One of these texts. */
export const oneOf = <T extends string>(...texts: readonly T[]): Check<T> =>
  value(each => texts.some(one => one === each), `none of ${texts.join(', ')}`)

/** A value that can be null. */
export const nullable =
  <T>(check: Check<T>): Check<T | null> =>
  each =>
    each === null ? null : check(each)

/** A field that can be absent. */
export const optional =
  <T>(check: Check<T>): Check<T | undefined> =>
  each =>
    each === undefined ? null : check(each)

/** An array. */
export const array =
  <T>(check: Check<T>): Check<T[]> =>
  each => {
    if (!Array.isArray(each)) return ' is no array'
    for (const [index, item] of each.entries()) {
      const problem = check(item)
      if (problem !== null) return `[${index}]${problem}`
    }
    return null
  }

/** An object with these fields. Fields that are not named are left as they are: a later version can add some. */
export function object<T extends object>(fields: Fields<T>): Check<T> {
  const checks: [string, Check<unknown>][] = Object.entries(fields)
  return each => {
    if (!isObject(each)) return ' is no object'
    for (const [name, check] of checks) {
      const problem = check(each[name])
      if (problem !== null) return `.${name}${problem}`
    }
    return null
  }
}

/**
 * Returns a value with the type that its check promises.
 *
 * @param place what the value is in the answer, such as `data`; empty for all of it
 * @throws VoucherGatewayError `INVALID_RESPONSE`, whose sentence names the field
 */
export function parse<T>(check: Check<T>, value: unknown, requestId: string, place = ''): T {
  const problem = check(value)
  // The check has looked at all that the type has.
  if (problem === null) return value as T
  const field = `${place}${problem}`.replace(/^\./, '').replace(/^ /, 'the body ')
  const message = `The answer is not one of Voucher Gateway: ${field}. Check the address.`
  throw new VoucherGatewayError(message, { code: 'INVALID_RESPONSE', requestId })
}

const dayForm = /^(\d{4})-(\d\d)-(\d\d)$/
const timeForm = /^T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?Z$/

function isDay(text: string): boolean {
  const [, year = 0, month = 0, date = 0] = (dayForm.exec(text) ?? []).map(Number)
  if (year < 1 || month < 1 || month > 12 || date < 1) return false
  return date <= 28 || date <= new Date(Date.UTC(year, month, 0)).getUTCDate()
}

const isInstant = (text: string) => isDay(text.slice(0, 10)) && timeForm.test(text.slice(10))
