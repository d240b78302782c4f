/** REST version 1: the table of contents of the contract. */
import { v1Path } from '../../http/paths.ts'
import { operation } from '../operation.ts'
import type { RestVersion } from '../register.ts'
import { catalogQuery, listQuery, noInput, resolveBody } from './input.ts'
import * as documents from './operations.ts'

/**
 * The eight operations of the contract, in the order of the contract. Their documents are in the `.graphql` files of
 * this folder.
 */
export const v1: RestVersion = {
  path: v1Path,
  operations: [
    operation('GET', '/tenants', documents.ListTenants, listQuery, 'A page of the tenants of the token.'),

    operation(
      'GET',
      '/tenants/:tenant/catalog/vouchers',
      documents.ListCatalogVouchers,
      catalogQuery,
      'A page of voucher products.',
    ),
    operation(
      'GET',
      '/tenants/:tenant/catalog/vouchers/:product',
      documents.GetCatalogVoucher,
      noInput,
      'One voucher product, with its categories and variants.',
    ),

    operation(
      'GET',
      '/tenants/:tenant/sales/purchased-vouchers',
      documents.ListPurchasedVouchers,
      listQuery,
      'A page of purchased vouchers, with their balances.',
    ),
    operation(
      'GET',
      '/tenants/:tenant/sales/purchased-vouchers/:voucher',
      documents.GetPurchasedVoucher,
      noInput,
      'One purchased voucher, with its balance.',
    ),

    operation(
      'GET',
      '/tenants/:tenant/customers/marketing-signups',
      documents.ListMarketingSignups,
      listQuery,
      'A page of customers who opted in to marketing. Personal data.',
    ),
    operation(
      'GET',
      '/tenants/:tenant/customers/marketing-signups/:customer',
      documents.GetMarketingSignup,
      noInput,
      'One customer who opted in to marketing. Personal data.',
    ),

    operation(
      'POST',
      '/tenants/:tenant/redemptions/resolve',
      documents.ResolveVoucher,
      resolveBody,
      'Checks a voucher: returns its status, its value, and a token to redeem it with. Redeems nothing.',
    ),
  ],
}
