/** An order of a list: by an expression, then by `id`. Rows without a value come last in both directions. */
export interface Order {
  /** The SQL expression. The index of the order has it after the tenant. */
  readonly key: string
  /** The SQL type of the expression. */
  readonly type: 'date' | 'integer' | 'numeric' | 'text' | 'timestamptz'
  readonly nullable: boolean
  readonly description: string
  /** The filter field that this order requires, and the error message without that field. */
  readonly needs?: { field: string; message: string }
}

export type Direction = 'ASC' | 'DESC'

export const directions: Readonly<Record<Direction, string>> = {
  ASC: 'From the lowest value, the earliest day or the letter A on.',
  DESC: 'From the highest value, the latest day or the letter Z on.',
}

/** Returns an order by an expression that is never null. */
export const byValue = (key: string, type: Order['type'], description: string): Order => ({
  key,
  type,
  nullable: false,
  description,
})

/** Returns an order by an expression that can be null. */
export const byNullable = (...order: Parameters<typeof byValue>): Order => ({ ...byValue(...order), nullable: true })

/**
 * Returns an order by an amount. It requires a filter by currency, because amounts of two currencies cannot be
 * compared.
 */
export const byAmount = (column: string, description: string): Order => ({
  key: column,
  type: 'numeric',
  nullable: true,
  description: `${description} Needs \`currency\` in the filter.`,
  needs: { field: 'currency', message: 'Filter by a currency: amounts of different currencies are not compared.' },
})
