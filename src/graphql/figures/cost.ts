/**
 * The cost of figures in quota units (R28): a unit stands for at most 16 ms of a core of PostgreSQL, measured by
 * `npm run bench -- figures` with 1,000 tenants.
 */

/** The cost of `figures` itself: the walk through the tree, and what its size adds to each figure. */
export const figuresCost = ({ withDescendants }: Record<string, unknown>): number => (withDescendants ? 4 : 1)

/** The cost of each figure. */
export const costs = { periods: 1, totals: 1, topProducts: 5, outstanding: 1, expiring: 1, status: 1, consents: 1 }
