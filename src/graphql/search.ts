/** The inputs of filters and orders, derived from the descriptions of resources, and the filtered lists. */
import type { ArgBuilder } from '@pothos/core'
import { z } from 'zod'
import type { PageArguments } from '../domain/paging/page.ts'
import { withSearchExportAudit, withTextSearchAudit } from '../domain/record/export.ts'
import type { Resource, ResourceRow } from '../domain/record/resource.ts'
import type { FilterKind, RecordReference } from '../domain/search/field.ts'
import { findMatchedFields } from '../domain/search/matched-fields.ts'
import { directions } from '../domain/search/order.ts'
import { isSearch, readSearch, type SearchArguments, type SearchDescription } from '../domain/search/search.ts'
import { type BuilderTypes, builder, enumValues } from './builder.ts'
import { readConnection } from './connection.ts'
import type { Context } from './context.ts'
import { recordIdIn } from './global-id.ts'
import { typeNameOf } from './node-types.ts'
import { VoucherStatus } from './voucher-status.ts'

/** Adds the input of a range of values. @param bounds the description of each bound, by its name */
const addRange = (
  name: string,
  type: 'Date' | 'DateTime' | 'Money',
  description: string,
  bounds: Readonly<Record<string, string>>,
) =>
  builder.inputType(name, {
    description,
    fields: t =>
      Object.fromEntries(
        Object.entries(bounds).map(([bound, description]) => [bound, t.field({ type, description })] as const),
      ),
  })

const DateRange = addRange('DateRange', 'Date', 'A range of calendar days. It includes `from` and `to`.', {
  from: 'The first day; without it, the range has no beginning.',
  to: 'The last day; without it, the range has no end.',
})

const InstantRange = addRange(
  'InstantRange',
  'DateTime',
  'A range of time. It includes `from`, and ends before `before`.',
  {
    from: 'The first instant; without it, the range has no beginning.',
    before: 'The instant before which the range ends; without it, the range has no end.',
  },
)

const MoneyRange = addRange('MoneyRange', 'Money', 'A range of amounts. It includes `from` and `to`.', {
  from: 'The lowest amount; without it, the range has no lower limit.',
  to: 'The highest amount; without it, the range has no upper limit.',
})

const OrderDirection = builder.enumType('OrderDirection', {
  description: 'The direction of an order. Records without a value come last in both.',
  values: enumValues(directions),
})

const voucherStatuses: [typeof VoucherStatus] = [VoucherStatus]

/** The input type of each kind of field in a filter. */
const inputTypes = {
  dates: DateRange,
  instants: InstantRange,
  amounts: MoneyRange,
  text: 'String',
  boolean: 'Boolean',
  voucherStatuses,
} as const satisfies Record<Extract<FilterKind, string>, unknown>

/**
 * Adds the inputs of a resource's filters and orders.
 *
 * @param type the name of the resource's GraphQL type, the prefix of the inputs' names
 */
export function addSearchInputs(type: string, { filters, orders }: SearchDescription) {
  const Filter = builder.inputType(`${type}Filter`, {
    description: 'The conditions of a list: a record must meet all of them. A field that is null is ignored.',
    fields: t =>
      Object.fromEntries(
        Object.entries(filters).map(([name, { kind, description }]) => [
          name,
          t.field({ type: typeof kind === 'string' ? inputTypes[kind] : 'ID', description }),
        ]),
      ),
  })
  const Field = builder.enumType(`${type}OrderField`, {
    description: 'The value by which a list is ordered. Records with the same value are ordered by `id`.',
    values: orders,
  })
  const Order = builder.inputType(`${type}Order`, {
    description: 'An order of the list.',
    fields: t => ({
      field: t.field({ type: Field, required: true, description: 'The value by which the list is ordered.' }),
      direction: t.field({
        type: OrderDirection,
        required: true,
        defaultValue: 'ASC',
        description: 'The direction; default: ascending.',
      }),
    }),
  })
  return { Filter, Order }
}

/** Adds the enum of the fields in which the filter's `text` is searched; returns null for a filter without `text`. */
export function addTextFields(type: string, { filters }: SearchDescription) {
  const fields = Object.values(filters).find(({ textFields }) => textFields)?.textFields
  if (!fields) return null
  return builder.enumType(`${type}TextField`, {
    description: 'A field in which the filter searches its `text`.',
    values: fields,
  })
}

/**
 * Returns the arguments of a list that can be filtered and ordered.
 *
 * @param owner the words for its tenant in the descriptions
 */
export const searchArgs = (
  arg: ArgBuilder<BuilderTypes>,
  { Filter, Order }: ReturnType<typeof addSearchInputs>,
  noun: string,
  owner: string,
) => ({
  filter: arg({ type: Filter, description: `Only ${noun}s that match it.` }),
  orderBy: arg({ type: Order, description: 'The order of the list; default: by `updatedAt`.' }),
  withDescendants: arg.boolean({
    defaultValue: false,
    description: `True to include the ${noun}s of the tenants below ${owner} for which the token is authorised.`,
  }),
})

const searchArguments = z.object({
  filter: z.record(z.string(), z.unknown()).nullish(),
  orderBy: z.object({ field: z.string(), direction: z.enum(['ASC', 'DESC']) }).nullish(),
  withDescendants: z.boolean().nullish(),
  updatedSince: z.string().nullish(),
})

/** Reads the arguments of a filtered or ordered list. @returns null when there is neither filter nor order */
export function readSearchArguments(
  description: SearchDescription,
  args: { filter?: unknown; orderBy?: unknown; withDescendants?: unknown; updatedSince?: unknown },
): SearchArguments | null {
  // A fast path, because most requests have neither a filter nor an order.
  if (!args.filter && !args.orderBy && args.withDescendants !== true) return null
  const { filter, ...others } = searchArguments.parse(args)
  const withIds = Object.entries(filter ?? {}).map(([name, value]) => {
    const kind = description.filters[name]?.kind
    const isRecord = typeof kind === 'object' && typeof value === 'string'
    return [name, isRecord ? referenceTo(recordIdIn(value, typeNameOf(kind.recordOf))) : value]
  })
  const given = { ...others, filter: Object.fromEntries(withIds) }
  return isSearch(given) ? given : null
}

const referenceTo = (id: number | null): RecordReference => ({ id })

/** Reads a page of a filtered or ordered list of a tenant. */
export async function searchResource<Row extends ResourceRow>(
  context: Context,
  { search: description, table: plain, listOf, personalData }: Resource<Row>,
  tenantId: number,
  wanted: SearchArguments,
  args: PageArguments,
) {
  if (!description) throw new Error('The resource has no filters.')
  const { records, caller, fieldErrors } = context
  const table = (personalData ? withSearchExportAudit : withTextSearchAudit)(context, description.table)
  const search = readSearch(description, listOf(tenantId), wanted, caller.token, fieldErrors)
  return readConnection<Row>(context, search.list, args, {
    page: window => table.page(records, search, window),
    total:
      search.conditions.length > 0 || search.descendantsOf
        ? null
        : async updatedSince => (await plain.counts(records, [{ tenantId, updatedSince }]))[0] ?? 0,
    count: updatedSince => table.count(records, search, updatedSince),
    matchedFields: async rows => (search.words ? findMatchedFields(records, search.words, rows) : new Map()),
  })
}
