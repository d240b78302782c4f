import { vouchers } from '../domain/voucher.ts'
import { addResource } from './resource.ts'

addResource(vouchers, 'A purchased voucher with its balance.')
