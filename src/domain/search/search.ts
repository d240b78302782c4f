/** What a caller asks of a list beside its page: a filter, an order, the tenants below. */
import { createHash } from 'node:crypto'
import type { ListIdentity } from '../cursor.ts'
import { type FieldErrors, throwIfErrors } from '../errors.ts'
import type { Token } from '../token.ts'
import type { Condition, FilterField } from './field.ts'
import type { Among, Direction, Order } from './order.ts'

/** The filters and orders of a resource, described once: the inputs of the schema follow. */
export interface SearchDescription {
  readonly filters: Readonly<Record<string, FilterField>>
  /** By the name of their value in the enum. */
  readonly orders: Readonly<Record<string, Order>>
  /** The order when the caller names none. */
  readonly defaultOrder: Order
}

/** The arguments of a list, as the schema reads them: records are references. */
export interface SearchArguments {
  filter?: Readonly<Record<string, unknown>> | null | undefined
  orderBy?: { field: string; direction?: Direction | null | undefined } | null | undefined
  withDescendants?: boolean | null | undefined
}

/** A list that is filtered, ordered, or has the records of several tenants. */
export interface Search {
  /** What cursors belong to: the filter, the order and the tenants are part of it. */
  list: ListIdentity
  tenantId: number
  /** The token, when the list also has the records of the tenants below that it is granted. */
  descendantsOf: Token | null
  conditions: readonly Condition[]
  /** Whether a condition searches a text. */
  searchesText: boolean
  order: Order
  descending: boolean
  /** The values of the order's column with few values that rows can have; null when it has no such column. */
  among: Among | null
}

/** Returns whether the arguments ask for more than the list of one tenant in its own order. */
export const isSearch = ({ filter, orderBy, withDescendants }: SearchArguments): boolean =>
  withDescendants === true || !!orderBy || hasFilter(filter)

const hasFilter = (filter: SearchArguments['filter']) =>
  !!filter && Object.values(filter).some(value => value !== undefined && value !== null)

/**
 * How many operations of the rate a page counts as, and how many more with a text or several tenants. Measured beside the
 * list itself: 2.4 times its time; with a text 4 times; 10 tenants 4 times, 1,000 tenants 15 times.
 */
const operationsOf = { page: 2, text: 2, descendants: 3 }

/** Returns how many operations of the rate a page of such a list counts as (R28), by what it costs. */
export function countOperations(description: SearchDescription, args: SearchArguments): number {
  const given = Object.entries(args.filter ?? {}).filter(([, value]) => value !== undefined && value !== null)
  const searches = given.some(([name]) => description.filters[name]?.searches)
  return (
    operationsOf.page +
    (searches ? operationsOf.text : 0) +
    (args.withDescendants === true ? operationsOf.descendants : 0)
  )
}

/**
 * Reads the filter and the order of a list.
 *
 * @param list the list itself
 * @param token whose grants decide which tenants below belong to the list
 * @param transportErrors errors that the transport found
 * @throws `BAD_USER_INPUT` with the errors of `filter.…` and `orderBy`
 */
export function readSearch(
  { filters, orders, defaultOrder }: SearchDescription,
  list: Required<ListIdentity>,
  args: SearchArguments,
  token: Token,
  transportErrors: FieldErrors = {},
): Search {
  const fieldErrors: FieldErrors = { ...transportErrors }
  const filter = args.filter ?? {}
  const isGiven = (name: string) => filter[name] !== undefined && filter[name] !== null
  const order = (args.orderBy && orders[args.orderBy.field]) ?? defaultOrder
  const conditions: Condition[] = []
  let among = order.among ?? null
  let searchesText = false

  for (const [name, field] of Object.entries(filters)) {
    if (!isGiven(name)) continue
    if (field.needs && !isGiven(field.needs.field)) fieldErrors[`filter.${name}`] = [field.needs.message]
    const effect = field.read(filter[name], (message, part) => {
      fieldErrors[part === undefined ? `filter.${name}` : `filter.${name}.${part}`] = [message]
    })
    if (!effect) continue
    conditions.push(effect.where)
    searchesText ||= field.searches === true
    if (among && effect.among?.column === among.column) among = narrowed(among, effect.among)
  }
  if (order.needs && !isGiven(order.needs.field)) fieldErrors.orderBy = [order.needs.message]
  throwIfErrors(fieldErrors)

  return {
    list: { ...list, name: `${list.name}?${digest(args, Object.keys(filters))}` },
    tenantId: list.tenantId,
    descendantsOf: args.withDescendants === true ? token : null,
    conditions,
    searchesText,
    order,
    descending: args.orderBy?.direction === 'DESC',
    among,
  }
}

const narrowed = ({ column, values }: Among, to: Among): Among => ({
  column,
  values: values.filter(value => to.values.includes(value)),
})

/** Returns a text that is the same for the same filter, order and tenants only. */
function digest({ filter, orderBy, withDescendants }: SearchArguments, names: readonly string[]): string {
  const given = names.map(name => canonical(filter?.[name]))
  const text = JSON.stringify([given, orderBy?.field, orderBy?.direction ?? 'ASC', withDescendants === true])
  return createHash('sha256').update(text).digest('base64url')
}

/** Returns a value whose JSON does not depend on the order in which the caller wrote its fields. */
function canonical(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(canonical).sort()
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .filter(([, inner]) => inner !== null && inner !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, inner]) => [name, canonical(inner)])
}
