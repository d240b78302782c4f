/** The resources whose fields are all columns. One with other fields has a file of its own. */
import { signups } from '../domain/signup.ts'
import { vouchers } from '../domain/voucher.ts'
import { addResource } from './resource.ts'

addResource(vouchers)
addResource(signups)
