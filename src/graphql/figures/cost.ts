/**
 * The quota units that figures count as (R28): an operation stands for at most 16 ms of a core of
 * PostgreSQL, measured by `npm run bench -- figures` with 1,000 tenants.
 */

/** The operations of `figures` itself: the walk through the tree, and what its size adds to each figure. */
export const figuresOperations = ({ withDescendants }: Record<string, unknown>): number => (withDescendants ? 4 : 1)

const operations = { periods: 1, totals: 1, topProducts: 5, outstanding: 1, expiring: 1, status: 1, consents: 1 }

/** Returns the operations of a figure. */
export const operationsOf = (figure: keyof typeof operations) => () => operations[figure]
