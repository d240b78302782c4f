import { defaultPageSize, type PageArguments } from '../domain/record/page.ts'

/**
 * The cost of one v1 operation (R28) beside its fields: a page, a record by its id, a resolution. Each may need a
 * statement and may fail, which takes as much time as about fifteen fields.
 */
export const operationCost = 15

/** The cost of one record by its id, or of a resolution. */
export const recordComplexity = { field: operationCost, multiplier: 1 }

/** The cost of a page: the cost of its fields, times its records. */
export const pageComplexity = ({ first, last }: Pick<PageArguments, 'first' | 'last'>) => ({
  field: operationCost,
  multiplier: Math.max(1, first ?? last ?? defaultPageSize),
})
