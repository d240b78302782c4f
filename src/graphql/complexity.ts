/** The complexity of fields, for the size of a document. The rate counts `cost` (`policy.ts`) instead. */
import { defaultPageSize, type PageArguments } from '../domain/paging/page.ts'

/** What a field adds itself (default: 1), and the maximum number of objects that it returns. */
interface Complexity {
  field: number
  multiplier: number
}

export type FieldComplexity<Args> = Complexity | ((args: Args) => Complexity)

/**
 * The complexity that a quota unit (R28) adds to its fields: for a page, a record by its id, or a resolution. Each of
 * these may need a statement, and may fail: that takes as much time as about fifteen fields.
 */
export const unitComplexity = 15

/** The complexity of one record by its id, or of a resolution. */
export const recordComplexity = { field: unitComplexity, multiplier: 1 }

/** The complexity of a page: its fields, times its records. */
export const pageComplexity = ({ first, last }: Pick<PageArguments, 'first' | 'last'>) => ({
  field: unitComplexity,
  multiplier: Math.max(1, first ?? last ?? defaultPageSize),
})
