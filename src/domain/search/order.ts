/** An order of a list: by an expression, then by `id`. Rows without a value come last in both directions. */
export interface Order {
  /** The expression, as its index has it after the tenant. */
  readonly key: string
  /** The SQL type of the expression. */
  readonly type: 'date' | 'integer' | 'numeric' | 'text' | 'timestamptz'
  readonly nullable: boolean
  readonly description: string
  /** The name of a field of the filter that must be given, and why. */
  readonly needs?: { field: string; message: string }
}

export type Direction = 'ASC' | 'DESC'

export const directions: Readonly<Record<Direction, string>> = {
  ASC: 'From the lowest value, the earliest day or the letter A on.',
  DESC: 'From the highest value, the latest day or the letter Z on.',
}

/** An order by an expression that is never null. */
export const byValue = (key: string, type: Order['type'], description: string): Order => ({
  key,
  type,
  nullable: false,
  description,
})

/** An order by an expression that can be null, as `byValue` makes it. */
export const byNullable = (...order: Parameters<typeof byValue>): Order => ({ ...byValue(...order), nullable: true })

/** An order by an amount, which needs one currency. */
export const byAmount = (column: string, description: string): Order => ({
  key: column,
  type: 'numeric',
  nullable: true,
  description: `${description} Needs \`currency\` in the filter.`,
  needs: { field: 'currency', message: 'Filter by a currency: amounts of different currencies are not compared.' },
})
