/** Reads the arguments of a filtered or ordered list, except the arguments of the page. */
import { createHash } from 'node:crypto'
import { type FieldErrors, throwIfErrors } from '../errors.ts'
import type { ListIdentity } from '../paging/cursor.ts'
import type { Token } from '../token/token.ts'
import type { Condition, FilterConditions, FilterField, ReportError } from './field.ts'
import type { SearchedWords } from './matched-fields.ts'
import type { Direction, Order } from './order.ts'

/** The filters and orders of a resource. The input types of the GraphQL schema are derived from them. */
export interface SearchDescription {
  readonly filters: Readonly<Record<string, FilterField>>
  readonly orders: Readonly<Record<string, Order>>
  readonly defaultOrder: Order
}

/** The arguments of a list, as the GraphQL schema passes them: records are references. */
export interface SearchArguments {
  filter?: Readonly<Record<string, unknown>> | null | undefined
  orderBy?: { field: string; direction?: Direction | null | undefined } | null | undefined
  withDescendants?: boolean | null | undefined
  updatedSince?: string | null | undefined
}

/** A list that is filtered, ordered, or has the records of several tenants. */
export interface Search extends Required<Pick<FilterConditions, 'ranges' | 'textConditions' | 'searchesPersonalData'>> {
  /** The identity of the list for cursors, which depends on the filter, the order and the tenants. */
  list: ListIdentity
  tenantId: number
  /**
   * The token whose grants decide which tenants below `tenantId` are included; null when only the tenant itself is
   * included.
   */
  descendantsOf: Token | null
  conditions: readonly Condition[]
  /** The keys of the ranges when all conditions are ranges; null when a condition is not a range. */
  rangeKeys: readonly string[] | null
  /** The condition that the index of the order serves; undefined when there is none. */
  served: Condition | undefined
  words: SearchedWords | null
  order: Order
  descending: boolean
  /** True when the matching rows are one range per tenant of the order's index. */
  isServed: boolean
}

/**
 * Returns true for arguments with a filter, an order or the tenants below, and false for the plain list of one tenant.
 */
export const isSearch = (args: SearchArguments): boolean =>
  args.withDescendants === true || !!args.orderBy || givenNames(args).length > 0

/**
 * The quota units of a page, and the additional units: for a text search, for several tenants whose rows must be
 * filtered, and for a text search at several tenants. One unit stands for at most 41 ms of PostgreSQL, so that 120
 * units take at most 5 s (R31). `npm run bench -- searches` measures this.
 */
const quotaUnits = { page: 2, text: 2, unservedOfDescendants: 3, textOfDescendants: 2 }

/** Returns the cost of a page of a search, in quota units (R28). */
export function costOfSearch(description: SearchDescription, args: SearchArguments): number {
  const searches = givenNames(args).some(name => description.filters[name]?.textFields)
  const ofMany = args.withDescendants === true
  return (
    quotaUnits.page +
    (searches ? quotaUnits.text : 0) +
    (ofMany && !isServed(description, args) ? quotaUnits.unservedOfDescendants : 0) +
    (searches && ofMany ? quotaUnits.textOfDescendants : 0)
  )
}

const givenNames = ({ filter }: SearchArguments): string[] =>
  Object.entries(filter ?? {}).flatMap(([name, value]) => (value === undefined || value === null ? [] : [name]))

const findOrder = ({ orders, defaultOrder }: SearchDescription, { orderBy }: SearchArguments): Order =>
  (orderBy && orders[orderBy.field]) ?? defaultOrder

/** Returns whether one range per tenant of the order's index serves the whole filter and `updatedSince`. */
function isServed(description: SearchDescription, args: SearchArguments): boolean {
  const { key } = findOrder(description, args)
  return (
    givenNames(args).every(name => description.filters[name]?.servedBy === key) &&
    (!args.updatedSince || key === description.defaultOrder.key)
  )
}

/**
 * Reads the filter and the order of a list.
 *
 * @param token its grants decide which tenants below the tenant belong to the list
 * @param transportErrors errors that the transport found
 * @throws `BAD_USER_INPUT` with the errors of `filter.…` and `orderBy`
 */
export function readSearch(
  description: SearchDescription,
  list: Required<ListIdentity>,
  args: SearchArguments,
  token: Token,
  transportErrors: FieldErrors = {},
): Search {
  const fieldErrors: FieldErrors = { ...transportErrors }
  const { filters } = description
  const filter = args.filter ?? {}
  const names = givenNames(args)
  const isGiven = (name: string) => names.includes(name)
  const order = findOrder(description, args)
  const given: FilterConditions[] = []
  for (const [name, field] of Object.entries(filters)) {
    if (!isGiven(name)) continue
    if (field.needs && !isGiven(field.needs.field)) fieldErrors[`filter.${name}`] = [field.needs.message]
    const report: ReportError = (message, part) => {
      fieldErrors[part === undefined ? `filter.${name}` : `filter.${name}.${part}`] = [message]
    }
    const conditions = field.read(filter[name], report, token.permissions)
    if (conditions) given.push(conditions)
  }
  if (order.needs && !isGiven(order.needs.field)) fieldErrors.orderBy = [order.needs.message]
  throwIfErrors(fieldErrors)

  const ranges = new Map<string, Condition>()
  for (const { key, where } of given.flatMap(({ ranges = [] }) => ranges)) {
    ranges.set(key, combineConditions(ranges.get(key), where))
  }
  return {
    list: { ...list, name: `${list.name}?${hashArguments(args, Object.keys(filters))}` },
    tenantId: list.tenantId,
    descendantsOf: args.withDescendants === true ? token : null,
    conditions: given.map(({ where }) => where),
    rangeKeys: given.every(({ isRange }) => isRange) ? [...ranges.keys()] : null,
    ranges: [...ranges].map(([key, where]) => ({ key, where })),
    served: ranges.get(order.key),
    textConditions: given.flatMap(({ textConditions = [] }) => textConditions),
    searchesPersonalData: given.some(({ searchesPersonalData }) => searchesPersonalData),
    words: given.find(({ words }) => words)?.words ?? null,
    order,
    descending: args.orderBy?.direction === 'DESC',
    isServed: isServed(description, args),
  }
}

const combineConditions = (one: Condition | undefined, other: Condition): Condition =>
  one ? sql => sql`${one(sql)} and ${other(sql)}` : other

/** Returns a hash that identifies the filter, the order and the choice of tenants. */
function hashArguments({ filter, orderBy, withDescendants }: SearchArguments, names: readonly string[]): string {
  const given = names.map(name => toCanonical(filter?.[name]))
  const text = JSON.stringify([given, orderBy?.field, orderBy?.direction ?? 'ASC', withDescendants === true])
  return createHash('sha256').update(text).digest('base64url')
}

/** Returns a value whose JSON does not depend on the order in which the caller wrote its fields. */
function toCanonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toCanonical).sort()
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .filter(([, inner]) => inner !== null && inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => [name, toCanonical(inner)])
}
