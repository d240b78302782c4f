/** The value of a column; an array is of type `text[]`. */
type CellValue = string | number | boolean | readonly string[] | null

/** A row, with the names of the columns as keys. All rows of a table have the same columns in the same order. */
export type Row = Readonly<Record<string, CellValue>>
