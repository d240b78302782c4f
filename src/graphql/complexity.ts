/** The complexity of fields, for the size of a document. The rate counts `cost` (`policy.ts`) instead. */
import { defaultPageSize, type PageArguments } from '../domain/paging/page.ts'

/** The complexity of the field itself (default: 1), and the maximum number of objects that the field returns. */
interface Complexity {
  field: number
  multiplier: number
}

export type FieldComplexity<Args> = Complexity | ((args: Args) => Complexity)

/**
 * The complexity of a quota unit (R28), which a page, a record by its id, or a resolution has in addition to its
 * fields. Each of these may need a statement and may fail, which takes as much time as about fifteen fields.
 */
export const unitComplexity = 15

/** The complexity of one record by its id, or of a resolution. */
export const recordComplexity = { field: unitComplexity, multiplier: 1 }

/** The complexity of a page: the complexity of its fields, multiplied by the number of its records. */
export const pageComplexity = ({ first, last }: Pick<PageArguments, 'first' | 'last'>) => ({
  field: unitComplexity,
  multiplier: Math.max(1, first ?? last ?? defaultPageSize),
})
