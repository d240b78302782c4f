import DataLoader from 'dataloader'
import { orNotFound } from '../domain/errors.ts'
import { findProducts, type Product, products } from '../domain/record/product.ts'
import { soldProductId, vouchers } from '../domain/record/voucher.ts'
import { statusOf } from '../domain/record/voucher-status.ts'
import { costOfSearch, type SearchArguments } from '../domain/search/search.ts'
import { findDays } from '../domain/tenant/tenant.ts'
import { builder } from './builder.ts'
import { CatalogVoucher } from './catalog-voucher.ts'
import { pageComplexity } from './complexity.ts'
import { updatedSinceDescription } from './connection.ts'
import type { Context } from './context.ts'
import type { Reader } from './loaders.ts'
import { describePermissions } from './node-types.ts'
import { addResource } from './resource.ts'
import { readSearchArguments, searchArgs, searchResource } from './search.ts'
import { VoucherStatus } from './voucher-status.ts'

/** Loads products of any tenant. The field that reads a product has to check the tenant of the product. */
const productLoader = ({ records }: Reader) => new DataLoader((ids: readonly number[]) => findProducts(records, ids))

/**
 * Returns the present product with this id; null when the product no longer exists, or when the token is not authorised
 * for the product's tenant.
 */
export async function findAuthorisedProduct(id: number, { caller, loaders, scope }: Context): Promise<Product | null> {
  const product = await loaders.get(productLoader).load(id)
  return product && (await scope.includes(caller.token, product.tenantId)) ? product : null
}

const { record, connection, inputs } = addResource(vouchers)
const { search, noun, permissions } = vouchers
if (!inputs || !search) throw new Error('Purchased vouchers cannot be filtered by their product.')

/** The name needs the permission of a resolution, because a resolution in v1 also shows the name (R32). */
const namePermissions = ['redeem_vouchers'] as const

export const PurchasedVoucher = record

const dayLoader = ({ records }: Reader) => new DataLoader((ids: readonly number[]) => findDays(records, ids))

builder.objectFields(PurchasedVoucher, t => ({
  recipientName: t.string({
    nullable: true,
    description: `The name of its recipient.${describePermissions(namePermissions)}`,
    policy: { permissions: namePermissions },
    resolve: ({ recipient }) => recipient,
  }),
  // The field costs no quota unit (R28), because it adds only 1 ms to the 3 ms of a page of 50 vouchers.
  product: t.field({
    type: CatalogVoucher,
    nullable: true,
    description:
      'The product that was purchased, as it is now; for a variant, the product of the variant. Null when the ' +
      'product was deleted, or belongs to a tenant for which the token is not authorised.',
    policy: { permissions: products.permissions },
    resolve: (voucher, _args, context) => {
      const id = soldProductId(voucher)
      return id === null ? null : findAuthorisedProduct(id, context)
    },
  }),
  status: t.field({
    type: VoucherStatus,
    nullable: true,
    description: "Its status today in its tenant's time zone, by the rules of a resolution.",
    resolve: async (voucher, _args, { loaders }) =>
      statusOf(voucher, orNotFound('tenant')(await loaders.get(dayLoader).load(voucher.tenantId))),
  }),
}))

/** Reads the arguments of the list of a product's vouchers. @param id null to estimate the cost */
const readProductSearch = (args: Parameters<typeof readSearchArguments>[1], id: number | null): SearchArguments => {
  const { filter, ...wanted } = readSearchArguments(search, args) ?? {}
  return { ...wanted, filter: { ...filter, productId: { id } } }
}

builder.objectField(CatalogVoucher, 'purchasedVouchers', t =>
  t.connection(
    {
      type: PurchasedVoucher,
      nullable: true,
      description:
        `The ${noun}s of this product and of its variants that its tenant sold, by \`updatedAt\`, then \`id\`. In the ` +
        `filter, \`productId\` is always this product.${describePermissions(permissions)}`,
      policy: { cost: args => costOfSearch(search, readProductSearch(args, null)), permissions },
      complexity: pageComplexity,
      args: {
        updatedSince: t.arg({ type: 'DateTime', description: updatedSinceDescription }),
        ...searchArgs(t.arg, inputs, noun, 'its own'),
      },
      resolve: ({ id, tenantId }, args, context) =>
        searchResource(context, vouchers, tenantId, readProductSearch(args, id), args),
    },
    connection,
  ),
)
