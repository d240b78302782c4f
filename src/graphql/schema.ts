import { builder } from './builder.ts'
import './scalars.ts'
import './connection.ts'
import './tenant.ts'
import './catalog-voucher.ts'
import './purchased-voucher.ts'
import './marketing-signup.ts'
import './removal.ts'
import './resolution.ts'
import './viewer.ts'

/** The one schema: both doors, REST and GraphQL, ask it. */
export const schema = builder.toSchema()
