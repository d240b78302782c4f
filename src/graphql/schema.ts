import { builder } from './builder.ts'
import './scalars.ts'
import './connection.ts'
import './node.ts'
import './tenant.ts'
import './catalog-voucher.ts'
import './purchased-voucher.ts'
import './figures/figures.ts'
import './resources.ts'
// Imported after the files of all types that have lists.
import './removal.ts'
import './changes.ts'
import './resolution.ts'
import './viewer.ts'

/** The schema of the service. REST and GraphQL are transports over this one schema. */
export const schema = builder.toSchema()
