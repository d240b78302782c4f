/** The schema of a copy in PostgreSQL, unless the command names another one. */
export const defaultSchema = 'voucher_gateway_copy'
