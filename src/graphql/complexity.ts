import { defaultPageSize, type PageArguments } from '../domain/page.ts'

/**
 * What one v1 operation (R28) costs beside its fields: a page, a record by its id, a resolution. Each may need a statement
 * and may end in an error, which takes as much time as some fifteen fields.
 */
export const operationCost = 15

/** The cost of one record by its id, or of a resolution. */
export const recordComplexity = { field: operationCost, multiplier: 1 }

/** A page costs as many times its fields as it has records. */
export const pageComplexity = ({ first, last }: Pick<PageArguments, 'first' | 'last'>) => ({
  field: operationCost,
  multiplier: Math.max(1, first ?? last ?? defaultPageSize),
})
